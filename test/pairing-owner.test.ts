/** Pairing and recovery as root in folders of the units' users: what root makes there belongs to them, also after a run that was cut. */
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { giveToOwner } from "../agent/owner.ts";
import { agent, eachTestItsPairing, fill } from "./support/pairing.ts";

const isRoot = process.getuid?.() === 0;
if (!isRoot)
  process.stderr.write(
    "\n*** SKIPPED for want of root: whose the files of pairing are. To run it: sudo npx vitest run test/pairing-owner\n\n",
  );

eachTestItsPairing();

// Any two users that are not root; numbers need no row in passwd.
const users = { signer: 64_001, courier: 64_002 };

function install(): void {
  chmodSync(agent.dir, 0o711);
  mkdirSync(agent.state, { mode: 0o711 });
  for (const [name, id] of Object.entries(users)) {
    mkdirSync(join(agent.state, name), { mode: 0o700 });
    chownSync(join(agent.state, name), id, id);
  }
}

/** Owner of everything in a folder, without repeats. */
function ownersIn(name: string): number[] {
  const folder = join(agent.state, name);
  const paths = (readdirSync(folder, { recursive: true }) as string[]).map((path) => join(folder, path));
  expect(paths.length).toBeGreaterThan(0);
  return [...new Set(paths.map((path) => lstatSync(path).uid))];
}

describe.runIf(isRoot)("as root in an installed folder", () => {
  beforeEach(() => {
    install();
    fill();
  });

  it("pair gives keystore, ledger and link to the owners of their folders", async () => {
    const done = await agent.pair();
    expect(done.code, done.output).toBe(0);
    expect(ownersIn("signer")).toEqual([users.signer]);
    expect(ownersIn("courier")).toEqual([users.courier]);
    expect(statSync(join(agent.state, "signer", "keystore.json")).mode & 0o777).toBe(0o600);
    expect(statSync(agent.config).uid).toBe(0);
  });

  it("pair run again mends what a run that was cut left to root", async () => {
    expect((await agent.pair()).code).toBe(0);
    for (const path of ["signer/keystore.json", "signer/ledger", "signer/ledger/00000001.jsonl", "courier/link.json"])
      chownSync(join(agent.state, path), 0, 0);
    expect(ownersIn("signer").sort()).toEqual([0, users.signer]);
    expect((await agent.pair()).output).toContain("paired already");
    expect(ownersIn("signer")).toEqual([users.signer]);
    expect(ownersIn("courier")).toEqual([users.courier]);
  });

  it("recover --new-ledger makes a ledger that the signer's user owns", async () => {
    expect((await agent.pair("--json")).code).toBe(0);
    const { granted } = JSON.parse(readFileSync(join(agent.state, "pairing.json"), "utf8")) as { granted: { agent: string } };
    rmSync(join(agent.state, "signer", "ledger"), { recursive: true });
    const done = await agent.cli("recover", "--new-ledger", "--yes", granted.agent);
    expect(done.code, done.output).toBe(0);
    expect(ownersIn("signer")).toEqual([users.signer]);
  });

  it("a folder of root's stays root's", async () => {
    for (const name of Object.keys(users)) chownSync(join(agent.state, name), 0, 0);
    expect((await agent.pair()).code).toBe(0);
    expect([ownersIn("signer"), ownersIn("courier")]).toEqual([[0], [0]]);
  });
});

describe.runIf(isRoot)("handing over", () => {
  it("takes nothing that lies elsewhere or has a second name, and all else, as a copy put back may be anybody's", () => {
    install();
    const signer = join(agent.state, "signer");
    const outside = join(agent.dir, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "file"), "");
    writeFileSync(join(outside, "twice"), "");
    symlinkSync(outside, join(signer, "folder-link"));
    symlinkSync(join(outside, "file"), join(signer, "file-link"));
    linkSync(join(outside, "twice"), join(signer, "twice"));
    writeFileSync(join(signer, "own"), "");
    writeFileSync(join(signer, "foreign"), "");
    chownSync(join(signer, "foreign"), users.courier, users.courier);
    giveToOwner(signer);
    for (const path of [outside, join(outside, "file"), join(outside, "twice")]) expect(lstatSync(path).uid, path).toBe(0);
    expect(lstatSync(join(signer, "own"))).toMatchObject({ uid: users.signer, gid: users.signer });
    expect(lstatSync(join(signer, "foreign")).uid).toBe(users.signer);
  });
});
