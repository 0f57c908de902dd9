/**
 * Pairing and recovery as root in folders of the units' users: what root makes there belongs to
 * them, also after a run that was cut.
 */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  lchownSync,
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
import { pathToFileURL } from "node:url";
import { beforeEach, describe, expect, it } from "vitest";
import { giveToOwner } from "../../agent/files/owner.ts";
import { layouts } from "../../cli/install/layout.ts";
import { gatherSurvey } from "../../cli/install/survey.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { agent, eachTestItsPairing, fill } from "../support/pairing.ts";

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
  const paths = (readdirSync(folder, { recursive: true }) as string[]).map((path) =>
    join(folder, path),
  );
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

  it("pair run again corrects the owners of files that a cut run left to root", async () => {
    expect((await agent.pair()).code).toBe(0);
    for (const path of [
      "signer/keystore.json",
      "signer/ledger",
      "signer/ledger/00000001.jsonl",
      "courier/link.json",
    ])
      chownSync(join(agent.state, path), 0, 0);
    expect(ownersIn("signer").sort()).toEqual([0, users.signer]);
    expect((await agent.pair()).output).toContain("paired already");
    expect(ownersIn("signer")).toEqual([users.signer]);
    expect(ownersIn("courier")).toEqual([users.courier]);
  });

  it("recover --new-ledger makes a ledger that the signer's user owns", async () => {
    expect((await agent.pair("--json")).code).toBe(0);
    const { granted } = JSON.parse(readFileSync(join(agent.state, "pairing.json"), "utf8")) as {
      granted: { agent: string };
    };
    rmSync(join(agent.state, "signer", "ledger"), { recursive: true });
    const done = await agent.cliProcess(
      "recover",
      "--new-ledger",
      "--yes",
      granted.agent,
      "--config",
      agent.config,
    );
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
  it("the handing over of a folder takes nothing that lies elsewhere or has a second name, and all else, because a restored copy may be anybody's", () => {
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
    expect(lstatSync(join(signer, "file-link")).uid).toBe(users.signer);
    for (const path of [outside, join(outside, "file"), join(outside, "twice")])
      expect(lstatSync(path).uid, path).toBe(0);
    expect(lstatSync(join(signer, "own"))).toMatchObject({ uid: users.signer, gid: users.signer });
    expect(lstatSync(join(signer, "foreign")).uid).toBe(users.signer);
  });
});

describe.runIf(isRoot)("looking whose all in a folder is", () => {
  it("the look at a folder's owners walks through no link, which may lead anywhere or round in circles", async () => {
    const root = join(agent.dir, "image");
    const courier = join(root, "var/lib/autowithdraw/courier");
    const [id, name] = [65_534, "nobody"];
    mkdirSync(courier, { recursive: true });
    const outside = join(agent.dir, "elsewhere");
    mkdirSync(outside);
    writeFileSync(join(outside, "of-root"), "");
    symlinkSync(outside, join(courier, "link"));
    chownSync(courier, id, id);
    lchownSync(join(courier, "link"), id, id);
    const ownerNow = async (): Promise<unknown> =>
      (await gatherSurvey(layouts.agent, projectRoot, root)).folders.get(
        "/var/lib/autowithdraw/courier",
      )?.owner;
    expect(await ownerNow()).toBe(name);
    mkdirSync(join(courier, "inner"));
    expect(await ownerNow()).toBeNull();
    chownSync(join(courier, "inner"), id, id);
    writeFileSync(join(courier, "inner", "of-root"), "");
    expect(await ownerNow()).toBeNull();
  });
});

describe("a named pipe in the place of a file that root reads in another's folder", () => {
  it.each([
    ["keystore.json", "agent/keystore/file.js", "readKeystore"],
    ["link.json", "agent/config/link-file.js", "readLinkFile"],
  ])(
    "a named pipe in the place of a file that root reads in another's folder: %s makes nobody wait",
    (name, module, read) => {
      const folder = join(agent.dir, "pipes");
      mkdirSync(folder);
      expect(spawnSync("mkfifo", ["-m", "600", join(folder, name)]).status).toBe(0);
      const from = pathToFileURL(join(projectRoot, "dist", module)).href;
      const script = `import { ${read} as read } from ${JSON.stringify(from)};
let said = "0"; try { read(${JSON.stringify(folder)}); } catch (error) { said = error.code; } process.stdout.write(said);`;
      const done = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
        encoding: "utf8",
        timeout: 120_000,
      });
      expect(done.stdout, done.stderr).toBe("FILE_KIND");
    },
  );
});
