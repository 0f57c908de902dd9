/**
 * A pipe whose end does not block, and a parent that writes late: a read finds nothing for a
 * moment, which happened on a loaded machine, and ended a command.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
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

it("a pipe that ends without them gives null", async () => {
  expect(await read("")).toBe("null");
});
