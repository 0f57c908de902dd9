/**
 * The example that tells an operator: an alert reaches ntfy, a Telegram bot and an SMTP relay, each
 * a real server here; a failure is told without a secret. The telephone's command passes four forms
 * and nothing else.
 */
import { type SpawnSyncReturns, spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { type AddressInfo, createServer as createTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const at = (name: string): string =>
  fileURLToPath(new URL(`../../examples/notify/${name}`, import.meta.url));
const notice = {
  ...{
    alert: 1,
    at: "2026-11-23T04:00:00.000Z",
    event: "withdrawal-held",
    level: "warn",
    process: "courier",
    agent: "a",
  },
  ...{
    subject: "ab",
    since: "2026-11-23T04:00:00.000Z",
    again: true,
    message: "a withdrawal of 2 eth\n.waits",
    hint: "approve ab",
  },
};

let dir = "";
const closers: (() => void)[] = [];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "tell-"));
});
afterEach(() => {
  for (const close of closers.splice(0)) close();
  rmSync(dir, { recursive: true });
});

/** Runs the example as the alert queue does: settings in a file, the alert on stdin. */
function tell(settings: object): Promise<{ readonly code: number | null; readonly said: string }> {
  writeFileSync(join(dir, "tell.json"), JSON.stringify(settings));
  const child = spawn(process.execPath, [at("tell.mjs"), join(dir, "tell.json")], {
    stdio: ["pipe", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (part: Buffer) => {
    said += part.toString();
  });
  child.stdin.end(`${JSON.stringify(notice)}\n`);
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, said })));
}

interface Received {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function httpServer(
  status = 200,
): Promise<{ readonly url: string; readonly received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => {
      body += part.toString();
    });
    request.on("end", () => {
      received.push({ url: request.url ?? "", headers: request.headers, body });
      response.writeHead(status).end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

/** A relay; `refuses` is the word that it answers with 550. */
async function relay(refuses = ""): Promise<{ readonly port: number; readonly lines: string[] }> {
  const lines: string[] = [];
  const server = createTcp((socket) => {
    socket.write("220 relay\r\n");
    let isLetter = false;
    let rest = "";
    socket.on("error", () => socket.destroy());
    socket.on("data", (part: Buffer) => {
      const [...all] = (rest + part.toString()).split("\r\n");
      rest = all.pop() ?? "";
      for (const line of all) {
        lines.push(line);
        if (isLetter && line !== ".") continue;
        if (line === "DATA") isLetter = true;
        else if (line === ".") isLetter = false;
        if (refuses !== "" && line.startsWith(refuses)) socket.write("550 no\r\n");
        else if (line.startsWith("EHLO")) socket.write("250-relay\r\n250 8BITMIME\r\n");
        else socket.write(line === "DATA" ? "354 go on\r\n" : "250 ok\r\n");
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => server.close());
  return { port: (server.address() as AddressInfo).port, lines };
}

describe("an alert on a telephone", () => {
  it("goes to a topic of ntfy, with what to do", async () => {
    const { url, received } = await httpServer();
    expect(await tell({ by: "ntfy", url: `${url}/topic`, token: "tk" })).toEqual({
      code: 0,
      said: "",
    });
    expect(received).toMatchObject([
      {
        url: "/topic",
        headers: { title: "withdrawal-held (again)", priority: "high", authorization: "Bearer tk" },
      },
    ]);
    expect(received[0]?.body).toBe(
      "a withdrawal of 2 eth\n.waits\ndo: approve ab\nsince 2026-11-23T04:00:00.000Z, courier",
    );
  });

  it("goes to a chat of a Telegram bot, and a refusal is told without the token", async () => {
    const { url: api, received } = await httpServer();
    expect((await tell({ by: "telegram", token: "SECRET", chat: "-5", api })).code).toBe(0);
    expect(received[0]?.url).toBe("/botSECRET/sendMessage");
    expect(JSON.parse(received[0]?.body ?? "")).toMatchObject({
      chat_id: "-5",
      text: expect.stringContaining("do: approve ab"),
    });
    const { url } = await httpServer(401);
    const refused = await tell({ by: "telegram", token: "SECRET", chat: "-5", api: url });
    expect(refused).toEqual({ code: 1, said: "tell: not delivered by telegram: answered 401\n" });
    const away = await tell({
      by: "telegram",
      token: "SECRET",
      chat: "-5",
      api: "http://127.0.0.1:1",
    });
    expect([away.code, away.said]).toEqual([1, expect.not.stringContaining("SECRET")]);
  });

  it("goes by mail to a relay, whole, and a relay that refuses is told", async () => {
    const { port, lines } = await relay();
    const letter = { by: "mail", from: "agent@example.com", to: "ops@example.com", port };
    expect(await tell(letter)).toEqual({ code: 0, said: "" });
    expect(lines).toContain("RCPT TO:<ops@example.com>");
    expect(lines).toContain("Subject: withdrawal-held (again)");
    expect(lines).toContain("..waits"); // a point at the beginning is doubled
    expect(lines.filter((line) => line === ".")).toHaveLength(1);
    const { port: closed } = await relay("RCPT");
    expect(await tell({ ...letter, port: closed })).toEqual({
      code: 1,
      said: "tell: not delivered by mail: the relay answered 550\n",
    });
  });

  it("needs settings that are whole", async () => {
    const bad = [
      {},
      { by: "sms" },
      { by: "ntfy" },
      { by: "telegram", token: "x" },
      { by: "mail", from: "a\r\nRCPT TO:<b>", to: "x" },
    ];
    for (const settings of bad)
      expect((await tell(settings)).code, JSON.stringify(settings)).toBe(2);
  });
});

describe("an approval from a telephone", () => {
  /** The command as sshd starts it, with an `autowithdraw` that writes its words down. */
  function typed(words: string | undefined): {
    readonly ran: readonly string[] | null;
    readonly result: SpawnSyncReturns<string>;
  } {
    const log = join(dir, "ran");
    rmSync(log, { force: true });
    writeFileSync(join(dir, "autowithdraw"), `#!/bin/sh\nprintf '%s\\n' "$@" > ${log}\n`);
    chmodSync(join(dir, "autowithdraw"), 0o755);
    const env = {
      PATH: `${dir}:/usr/bin:/bin`,
      ...(words === undefined ? {} : { SSH_ORIGINAL_COMMAND: words }),
    };
    const result = spawnSync("/bin/sh", [at("approve-by-phone")], {
      env,
      encoding: "utf8",
      cwd: dir,
    });
    return { ran: existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : null, result };
  }

  it("passes its four forms", () => {
    const id = "0123456789abcdef0123456789abcdef";
    expect(typed(undefined).ran).toEqual(["status"]);
    expect(typed("status").ran).toEqual(["status"]);
    expect(typed(`show ${id}`).ran).toEqual(["show", id]);
    expect(typed(`approve ${id}`).ran).toEqual(["approve", id, "--yes"]);
    expect(typed(`refuse ${id}`).ran).toEqual(["refuse", id, "--yes"]);
  });

  it("passes nothing else", () => {
    const others = [
      "approve",
      "approve ab; id",
      "approve ab cd",
      "approve $(id)",
      "approve --as=x",
      "recover ab",
      "status; id",
      "approve *",
      "sh",
      "approve ab\nrefuse cd",
    ];
    for (const words of others) {
      const { ran, result } = typed(words);
      expect([ran, result.status], words).toEqual([null, 2]);
    }
  });
});
