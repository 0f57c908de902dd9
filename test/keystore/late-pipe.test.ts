/**
 * A pipe whose end does not block, and a parent that writes late: a read finds nothing for a
 * moment, which happened on a loaded machine, and ended a command.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { decodeProtectedHeader } from "jose";
import { expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

/** The runtime's own stream makes the descriptor one that does not block. */
const reader = `
  process.stdin.pause();
  const { readPipe } = await import(process.argv[1] + "/files/inherited-pipe.js");
  const found = readPipe(0, (piece) => (piece.includes(10) ? Buffer.from(piece).toString("utf8") : null));
  process.stdout.write(String(found));
`;

async function read(text: string): Promise<string> {
  const program = new URL("../../dist/agent", import.meta.url).href;
  const child = spawn(process.execPath, ["--input-type=module", "-e", reader, program]);
  let printed = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  await sleep(500);
  child.stdin.end(text);
  await once(child, "close");
  return printed;
}

it("a late parent's bytes are read whole, also from a pipe that does not block", async () => {
  expect(await read("late\n")).toBe("late\n");
});

/** `autowithdraw token`, whose key comes after a while on a stdin that does not block. */
async function token(
  text: string,
  lateMs: number,
): Promise<{ readonly code: number | null; readonly out: string; readonly said: string }> {
  const child = spawn(process.execPath, [join(projectRoot, "autowithdraw.js"), "token"]);
  let [out, said] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  child.stdin.on("error", () => {});
  const closed = once(child, "close");
  await sleep(lateMs);
  child.stdin.end(text);
  const [code] = (await closed) as [number | null];
  return { code, out, said };
}

it("the command token waits for a key that comes late, and refuses what is none", async () => {
  const key = `k_0123456789abcdef.${Buffer.alloc(32, 7).toString("base64url")}.${"0".repeat(32)}`;
  const made = await token(`${key}\n`, 2_500);
  expect([made.code, made.said]).toEqual([0, ""]);
  expect(decodeProtectedHeader(made.out.trim())).toMatchObject({ kid: "k_0123456789abcdef" });
  expect((await token("", 0)).code).toBe(2);
  expect((await token(key.repeat(64), 0)).code).toBe(2);
});

it("a pipe that ends without them gives null", async () => {
  expect(await read("")).toBe("null");
});
