/**
 * Short arrays of bytes stand in the runtime's heap, which moves them and leaves copies that no
 * code can wipe. A secret therefore stands in memory that never moves. This was found in a signer
 * that was busy enough to collect garbage between two lines of its start.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";
import { until } from "../../lab/kit/processes.ts";
import { startsTheBuild } from "../support/built.ts";
import { findInMemory } from "../support/memory.ts";

startsTheBuild();

/** A process that reads two frames as the signer does, collects garbage, then wipes encKey. */
const reader = `
  const { readPipe } = await import(process.argv[1] + "/files/inherited-pipe.js");
  const { BootstrapReader } = await import(process.argv[1] + "/signer/bootstrap.js");
  const reader = new BootstrapReader();
  const bootstrap = readPipe(0, (piece) => reader.push(piece));
  for (let i = 0; i < 3; i++) gc({ type: "minor" });
  if (process.argv[2] === "wiped") bootstrap.encKey.fill(0);
  globalThis.kept = bootstrap;
  console.log("read");
  setInterval(() => {}, 1_000);
`;

const settings = {
  chains: { local: { family: "evm", chainId: 31337 } },
  currencies: { eth: { chain: "local", decimal: 18 } },
  policy: {},
  ...{
    stuckAfterMinutes: 30,
    stateDir: "/s",
    courierSocket: "/s/c",
    operatorSocket: "/s/o",
    encKeyFrom: "config",
  },
  config: { path: "/config.json", digest: "c0".repeat(32), readAt: 1, readMs: 1 },
};

function frame(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** The pieces of encKey that are left in the reader's memory. */
async function piecesLeft(encKey: Buffer, mode: "wiped" | "kept"): Promise<string[]> {
  const program = new URL("../../dist/agent", import.meta.url).href;
  const child = spawn(process.execPath, [
    "--expose-gc",
    "--input-type=module",
    "-e",
    reader,
    program,
    mode,
  ]);
  try {
    let printed = "";
    child.stdout.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
    });
    child.stdin.write(Buffer.concat([frame(Buffer.from(JSON.stringify(settings))), frame(encKey)]));
    await until(
      "the frames are read",
      120_000,
      async () => (printed.includes("read") ? true : undefined),
      () => printed,
    );
    const pieces = {
      start: encKey.subarray(0, 24),
      middle: encKey.subarray(20, 44),
      end: encKey.subarray(-24),
    };
    return findInMemory(child.pid ?? 0, pieces);
  } finally {
    child.kill();
    await once(child, "close");
  }
}

it("encKey of 64 digits leaves no copy in memory after garbage was collected and the key was wiped", async () => {
  const encKey = Buffer.from(randomBytes(32).toString("hex"));
  expect(await piecesLeft(encKey, "kept")).toEqual(["start", "middle", "end"]);
  expect(await piecesLeft(encKey, "wiped")).toEqual([]);
});

it("rooms that hold secrets make arrays of bytes in fixed memory only", () => {
  const folders = ["agent/keystore", "agent/signer/vault", "agent/launcher", "agent/config"].map(
    (path) => join(projectRoot, path),
  );
  const files = folders.flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
  files.push(join(projectRoot, "agent/signer/bootstrap.ts"));
  expect(files.length).toBeGreaterThan(30);
  const movable = /Uint8Array\.from\(|new Uint8Array\((?!0\)|hkdfSync)/;
  expect(files.filter((path) => movable.test(readFileSync(path, "utf8")))).toEqual([]);
  expect(movable.test("const key = new Uint8Array(32);")).toBe(true);
});
