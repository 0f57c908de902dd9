/**
 * Files that are missing in a state folder, and files that only this user cannot see: the two need
 * opposite steps.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { isThere, type StateFolder, stateFolder } from "../../agent/files/state-folder.ts";
import { assertPaired, assertPairingComplete } from "../../agent/launcher/paired.ts";
import { AgentError } from "../../base/fault.ts";
import { askOperator } from "../../cli/operator.ts";
import { readProgress } from "../../cli/pair/progress.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A paired server's files, as far as they are looked for. */
function pairedFolder(): StateFolder {
  const base = mkdtempSync(join(tmpdir(), "autowithdraw-state-"));
  folders.push(base);
  chmodSync(base, 0o755);
  const state = stateFolder(join(base, "state"));
  for (const folder of [state.root, state.signer, state.courier, join(state.signer, "ledger")])
    mkdirSync(folder, { mode: 0o700 });
  writeFileSync(join(state.signer, "keystore.json"), "{}");
  writeFileSync(join(state.signer, "ledger", "0000000000000001.jsonl"), "{}\n");
  writeFileSync(join(state.courier, "link.json"), "{}");
  writeFileSync(
    state.pairing,
    JSON.stringify({ step: "scrubbed", granted: { agent: "aa".repeat(8) } }),
  );
  return state;
}

/** As a user to whom the folder is closed. */
async function outside<T>(folder: string, act: () => T | Promise<T>): Promise<T> {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  else chmodSync(folder, 0);
  try {
    return await act();
  } finally {
    if (isRoot) process.seteuid?.(0);
    else chmodSync(folder, 0o700);
  }
}

async function faultOf(act: () => unknown): Promise<AgentError> {
  try {
    await act();
  } catch (error) {
    if (error instanceof AgentError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

it("a paired state folder is paired for everybody who may look", () => {
  const state = pairedFolder();
  for (const role of ["both", "signer", "courier"] as const) assertPaired(state, role);
  assertPairingComplete(state);
  expect(isThere(state.pairing)).toBe(true);
  expect(isThere(join(state.pairing, "below a file"))).toBe(false);
});

it.each([
  ["keystore.json", "signer"],
  ["link.json", "courier"],
] as const)("a state folder is incomplete without its %s", async (name, room) => {
  const state = pairedFolder();
  rmSync(join(state[room], name));
  expect((await faultOf(() => assertPaired(state, room))).code).toBe("STATE_INCOMPLETE");
});

it.each(["both", "signer", "courier"] as const)(
  "a state folder is neither unpaired nor incomplete for another user: %s",
  async (role) => {
    const state = pairedFolder();
    const fault = await faultOf(() => outside(state.root, () => assertPaired(state, role)));
    expect(fault.code).toBe("STATE_FOLDER");
    expect(fault.message).toMatch(
      /^this user cannot see whether .*(keystore|link)\.json is there \(EACCES\)$/,
    );
    expect(fault.context.hint).toBe("run it as the user that runs crypto");
  },
);

it("a state folder lets each role look at its own folder alone", async () => {
  const state = pairedFolder();
  for (const folder of [state.root, state.signer, join(state.signer, "ledger")])
    chmodSync(folder, 0o755);
  await outside(state.courier, () => {
    assertPaired(state, "signer");
    expect(() => assertPaired(state, "courier")).toThrow("link.json");
  });
});

it("a state folder that is out of sight begins no second pairing for another user", async () => {
  const state = pairedFolder();
  const fault = await faultOf(() => outside(state.root, () => readProgress(state)));
  expect(fault.code).toBe("COMMAND_RIGHT");
  expect(fault.context.hint).toBe("run it as root, or as the user that owns the state folder");
});

it("an operator of the socket alone is told that crypto does not run, not that nothing is paired", async () => {
  const state = pairedFolder();
  expect(
    (await faultOf(() => outside(state.root, () => askOperator(state, "status", {})))).code,
  ).toBe("COMMAND_RIGHT");
  if (process.geteuid?.() === 0) {
    chmodSync(state.root, 0o711);
    const fault = await faultOf(() => outside(state.root, () => askOperator(state, "status", {})));
    expect(fault.code).toBe("COMMAND_DAEMON_AWAY");
  }
  rmSync(state.pairing);
  rmSync(join(state.signer, "keystore.json"));
  expect((await faultOf(() => askOperator(state, "status", {}))).code).toBe("STATE_NOT_PAIRED");
});
