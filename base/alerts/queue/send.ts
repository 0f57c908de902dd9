/**
 * Sends alerts, and is the one dangerous file of this module: starts the configured command, or
 * posts to the configured address. No shell, a clean environment, ten seconds, no redirects, at
 * most 4 KiB of output read. Reasons of failure name neither address nor arguments.
 */
import { spawn } from "node:child_process";
import { createOutgoingClient } from "../../outgoing/exchange.ts";
import type { AlertDelivery } from "./alert-queue.ts";

export type AlertTarget =
  | { readonly kind: "command"; readonly command: readonly string[] }
  | { readonly kind: "url"; readonly url: string };

const timeoutMsDefault = 10_000;
const outputBytesMax = 4096;
const whyCharactersMax = 200;
const environment = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LANG: "C.UTF-8",
};

/**
 * Each call is one try, and the queue makes one at a time. A receiver accepts by exit status 0 or
 * by a status of 200 to 299.
 */
export function createAlertDelivery(
  target: AlertTarget,
  timeoutMs = timeoutMsDefault,
): AlertDelivery {
  return target.kind === "command"
    ? (body) => tellCommand(target.command, body, timeoutMs)
    : (body) => post(target.url, body, timeoutMs);
}

function tellCommand(
  [program = "", ...args]: readonly string[],
  body: string,
  timeoutMs: number,
): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      shell: false,
      cwd: "/",
      env: environment,
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
    });
    let output = "";
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      killGroup(child.pid);
    }, timeoutMs);
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8");
      stream.on("data", (text: string) => {
        if (output.length < outputBytesMax) output += text.slice(0, outputBytesMax - output.length);
      });
    }
    const over = (why: string): void => {
      clearTimeout(timer);
      // Grandchildren would hold the pipes open, so they end with the command.
      killGroup(child.pid);
      child.stdout.destroy();
      child.stderr.destroy();
      resolve(why);
    };
    child.once("error", (error: NodeJS.ErrnoException) =>
      over(`the command could not be started (${error.code ?? "?"})`),
    );
    child.once("exit", (code, signal) => {
      if (isLate) over(`the command took longer than ${timeoutMs / 1000} s and was ended`);
      else if (code === 0) over("");
      else over(cut(`the command ended with ${code ?? signal}: ${oneLine(output)}`));
    });
    // A command that does not read its stdin breaks the pipe, but may still have sent the alert.
    child.stdin.on("error", () => {});
    child.stdin.end(`${body}\n`);
  });
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The complete process group has ended.
  }
}

/** Only the status of the answer counts. The body can have any length and stays unread. */
function post(url: string, body: string, timeoutMs: number): Promise<string> {
  const { origin, pathname, search, username, password } = new URL(url);
  const outgoing = createOutgoingClient({ origin, connectionsMax: 1, idleMs: 0 });
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const headers: Record<string, string> =
    login === ":"
      ? {}
      : { authorization: `Basic ${Buffer.from(login, "utf8").toString("base64")}` };
  return new Promise((resolve) => {
    const request = {
      method: "POST",
      path: pathname + search,
      headers,
      body,
      bytesMax: 0,
      timeoutMs,
      bodyMs: 1,
    } as const;
    outgoing.send(request, (outcome) => {
      outgoing.close();
      if (outcome.ok)
        resolve(
          outcome.status >= 200 && outcome.status < 300
            ? ""
            : `the address answered ${outcome.status}`,
        );
      else if (outcome.kind === "timeout")
        resolve(`the address took longer than ${timeoutMs / 1000} s`);
      else resolve(cut(`the address could not be reached (${outcome.code || "?"})`));
    });
  });
}

function oneLine(text: string): string {
  return text.replace(/[^\x20-\x7e]+/g, " ").trim();
}

function cut(text: string): string {
  return text.length <= whyCharactersMax ? text : `${text.slice(0, whyCharactersMax - 3)}...`;
}
