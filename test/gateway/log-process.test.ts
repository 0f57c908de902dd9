/**
 * The gateway's log on stderr, in a process of its own: lines wait for each other, and none is lost
 * at the process' end.
 */
import { spawn, spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

const dir = mkdtempSync(join(tmpdir(), "gateway-log-"));
afterAll(() => rmSync(dir, { recursive: true }));

/** Runs `text` with a log whose lines go to a file; `lines()` there counts those that left. */
function run(text: string): { readonly messages: readonly string[]; readonly stdout: string } {
  const file = join(dir, "stderr");
  const fd = openSync(file, "w");
  const command = JSON.stringify(join(projectRoot, "dist/gateway/operator/command.js"));
  const script = `import { readFileSync } from "node:fs";
    import { answerSignal, makeLog, printProblem } from ${command};
    const lines = () => readFileSync(${JSON.stringify(file)}, "utf8").split("\\n").length - 1;
    const log = makeLog("info");
    ${text}`;
  const args = ["--input-type=module", "-e", script];
  const { stdout } = spawnSync(process.execPath, args, {
    stdio: ["ignore", "pipe", fd],
    encoding: "utf8",
  });
  closeSync(fd);
  const messages = [
    ...readFileSync(file, "utf8").matchAll(/"message":"([^"]*)"|^autowithdraw-gateway: (.*)$/gm),
  ];
  return { messages: messages.map(([, one, other]) => one ?? other ?? ""), stdout };
}

const two = 'log.info({ event: "request" }, "one"); log.warn({ event: "request" }, "two");';

it.each([
  ["returns", ""],
  ["exits", "process.exit(3);"],
  ["throws what nobody catches", 'throw new Error("a bug");'],
  [
    "exits at SIGTERM",
    'process.on("SIGTERM", () => process.exit(0)); process.kill(process.pid, "SIGTERM"); setInterval(() => {}, 1000);',
  ],
])("a gateway that %s leaves every line of its log", (_how, end) => {
  expect(run(`${two} ${end}`).messages).toEqual(["one", "two"]);
});

it("lines below error wait for each other, a line of error leaves at once with all before it, even before a SIGKILL", () => {
  const text = `${two} process.stdout.write(String(lines()));
    log.error({ event: "bug" }, "three"); process.stdout.write(" " + lines()); log.info({ event: "request" }, "four");
    process.kill(process.pid, "SIGKILL");`;
  expect(run(text)).toEqual({ messages: ["one", "two", "three"], stdout: "0 3" });
});

it("lines that wait leave a moment later by themselves", () => {
  const text = `${two} setInterval(() => { if (lines() === 2) process.kill(process.pid, "SIGKILL"); }, 5);`;
  expect(run(text).messages).toEqual(["one", "two"]);
});

it("an answer to an operator and a complaint come after the lines before them", () => {
  const text = `${two} answerSignal("config-reload", "three"); log.info({ event: "request" }, "four"); printProblem("five", "");`;
  expect(run(text).messages).toEqual(["one", "two", "three", "four", "five"]);
});

it("a gateway whose log and output nobody reads any more goes on, and ends with its own code", async () => {
  const command = JSON.stringify(join(projectRoot, "dist/gateway/operator/command.js"));
  const unread = JSON.stringify(join(projectRoot, "dist/base/unread-output.js"));
  const script = `import { answerSignal, makeLog, printProblem, printText } from ${command};
    import { dropUnread } from ${unread};
    dropUnread(process.stdout, process.stderr);
    const log = makeLog("info");
    const all = () => { printText("x"); log.error({ event: "bug" }, "x"); answerSignal("config-reload", "x"); printProblem("x", ""); };
    process.stdin.on("end", () => { all(); setTimeout(() => { all(); setTimeout(() => process.exit(7), 10); }, 10); }).resume();`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdout.destroy();
  child.stderr.destroy();
  child.stdin.end();
  expect(await new Promise((resolve) => child.once("exit", resolve))).toBe(7);
});
