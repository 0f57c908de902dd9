/**
 * The files and folders that the product trusts: kind, owner, mode and links, each with a twin that
 * differs in one thing and is taken. Owners need root: without it those tests are skipped loudly.
 */
import {
  chmodSync,
  chownSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeSocketPaths, socketPaths, stateFolder } from "../../agent/files/state-folder.ts";
import {
  isTrustedFolder,
  openTrusted,
  readTrusted,
  type TrustRequirement,
} from "../../agent/files/trusted.ts";
import { AgentError } from "../../base/fault.ts";
import { findSecretCopies } from "../../cli/config-copies.ts";
import { carryOutInstallAct } from "../../cli/install/steps.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { start } from "../../lab/kit/processes.ts";
import { isLongTier } from "../../lab/kit/share.ts";
import { startsTheBuild } from "../support/built.ts";
import { pairsOnce, says } from "../support/paired-crypto.ts";

startsTheBuild();

const isRoot = process.getuid?.() === 0;
if (!isRoot)
  process.stderr.write(
    "\n*** SKIPPED for want of root: whose files are believed. To run it: sudo npx vitest run test/trusted\n\n",
  );

// Any two users that are not root; numbers need no row in passwd.
const outsider = 64_001;
const service = 64_002;
const secret: TrustRequirement = { owner: "own", isSecret: true };
const plain: TrustRequirement = { owner: "own", isSecret: false };

let dir = "";
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "autowithdraw-trusted-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function codeOf(act: () => unknown): Promise<string> {
  try {
    await act();
  } catch (error) {
    if (error instanceof AgentError) return error.code;
    throw error;
  }
  return "";
}

function file(mode = 0o600, uid = process.getuid?.() ?? 0, folder = dir): string {
  const path = join(folder, `file-${mode.toString(8)}-${uid}`);
  writeFileSync(path, "text");
  chmodSync(path, mode);
  if (isRoot) chownSync(path, uid, uid);
  return path;
}

describe("a file", () => {
  const read = (path: string, trust: TrustRequirement): Promise<string> =>
    codeOf(() => readTrusted(path, 100, trust));

  it("a trusted file is a file, and no link, folder or pipe", async () => {
    const link = join(dir, "link");
    symlinkSync(file(), link);
    expect(await read(link, secret)).toBe("FILE_LINK");
    expect(await read(dir, secret)).toBe("FILE_KIND");
    expect(await read("/dev/null", { ...secret, owner: "any" })).toBe("FILE_KIND");
    expect(await read(file(), secret)).toBe("");
  });

  it.each([0o604, 0o640, 0o620, 0o601, 0o666])(
    "a trusted file with a secret is closed to others (mode %o)",
    async (mode) => {
      expect(await read(file(mode), secret)).toBe("FILE_EXPOSED");
      expect(await read(file(mode & 0o700), secret)).toBe("");
      expect(await read(file(mode), { ...secret, isGuarded: true })).toBe("");
    },
  );

  it("a trusted file without a secret may be read by others and not be written", async () => {
    for (const mode of [0o620, 0o602, 0o666])
      expect(await read(file(mode), plain)).toBe("FILE_EXPOSED");
    expect(await read(file(0o644), plain)).toBe("");
  });

  it("a trusted file is judged when it is opened for writing too", async () => {
    const flags = constants.O_WRONLY | constants.O_APPEND;
    expect(await codeOf(() => openTrusted(file(0o666), flags, plain))).toBe("FILE_EXPOSED");
    expect(await codeOf(() => openTrusted(file(0o600), flags, plain))).toBe("");
  });

  it("a trusted file that is larger than wanted is not read", () => {
    expect(readTrusted(file(), 3, secret)).toBeNull();
    expect(Buffer.from(readTrusted(file(), 4, secret) ?? []).toString()).toBe("text");
  });

  it.runIf(isRoot)(
    "a trusted file is root's or this user's, unless an operator named it",
    async () => {
      const theirs = file(0o600, outsider);
      expect(await read(theirs, secret)).toBe("FILE_OWNER");
      expect(await read(theirs, { ...secret, owner: "any" })).toBe("");
      expect(await read(file(0o644, outsider), { ...secret, owner: "any" })).toBe("FILE_EXPOSED");
    },
  );

  it.runIf(isRoot)(
    "a trusted file in a user's own folder is that user's, if root looks after it",
    async () => {
      const folder = join(dir, "signer");
      mkdirSync(folder, { mode: 0o700 });
      chownSync(folder, service, service);
      const trust: TrustRequirement = { owner: "folder", isSecret: true };
      expect(await read(file(0o600, service, folder), trust)).toBe("");
      expect(await read(file(0o600, 0, folder), trust)).toBe("");
      expect(await read(file(0o600, outsider, folder), trust)).toBe("FILE_OWNER");
      expect(await read(file(0o600, service, folder), secret)).toBe("FILE_OWNER");
    },
  );
});

describe("a folder", () => {
  const look = (path: string, trust = plain): Promise<string> =>
    codeOf(() => isTrustedFolder(path, trust));
  const folder = (name: string, mode: number, uid = process.getuid?.() ?? 0): string => {
    mkdirSync(join(dir, name));
    chmodSync(join(dir, name), mode);
    if (isRoot) chownSync(join(dir, name), uid, uid);
    return join(dir, name);
  };

  it("a trusted folder is a folder and no link, and closed to others' writing", async () => {
    const own = folder("own", 0o755);
    symlinkSync(own, join(dir, "link"));
    expect(await look(join(dir, "link"))).toBe("FILE_LINK");
    expect(await look(file())).toBe("FILE_KIND");
    expect(await look(folder("open", 0o777))).toBe("FILE_EXPOSED");
    expect(await look(own)).toBe("");
    expect(await look(own, secret)).toBe("FILE_EXPOSED");
    expect(await look(folder("private", 0o700), secret)).toBe("");
    expect(isTrustedFolder(join(dir, "missing"), plain)).toBe(false);
  });

  it.runIf(isRoot)(
    "of a service's user is trusted if only root could have given it away",
    async () => {
      const given = folder("given", 0o700, service);
      expect(await look(given, { owner: "folder", isSecret: false })).toBe("");
      expect(await look(given)).toBe("FILE_OWNER");
      chmodSync(dir, 0o1777);
      expect(await look(given, { owner: "folder", isSecret: false })).toBe("FILE_OWNER");
    },
  );
});

describe("the folder that run/where names", () => {
  const long = () => stateFolder(join(dir, "l".repeat(100)));

  it("is asked only while it is the agent's own", async () => {
    const state = long();
    const made = makeSocketPaths(state);
    const short = join(made.operator, "..");
    try {
      expect(socketPaths(state)).toEqual(made);
      chmodSync(short, 0o755);
      expect(await codeOf(() => socketPaths(state))).toBe("FILE_EXPOSED");
      chmodSync(short, 0o700);
      chmodSync(join(state.run, "where"), 0o666);
      expect(await codeOf(() => socketPaths(state))).toBe("FILE_EXPOSED");
      chmodSync(join(state.run, "where"), 0o600);
      expect(socketPaths(state)).toEqual(made);
      rmSync(short, { recursive: true });
      symlinkSync(dir, short);
      expect(await codeOf(() => socketPaths(state))).toBe("FILE_LINK");
    } finally {
      rmSync(short, { recursive: true, force: true });
    }
  });

  it.runIf(isRoot)("may not be made again or named by another user", async () => {
    const state = long();
    const made = makeSocketPaths(state);
    const short = join(made.operator, "..");
    try {
      chownSync(short, outsider, outsider);
      expect(await codeOf(() => socketPaths(state))).toBe("FILE_OWNER");
      chownSync(short, 0, 0);
      expect(socketPaths(state)).toEqual(made);
      chownSync(join(state.run, "where"), outsider, outsider);
      expect(await codeOf(() => socketPaths(state))).toBe("FILE_OWNER");
    } finally {
      rmSync(short, { recursive: true, force: true });
    }
  });

  it("lies in the user's runtime folder, where that is this user's alone", () => {
    const before = process.env.XDG_RUNTIME_DIR;
    const runtime = join(dir, "runtime");
    mkdirSync(runtime, { mode: 0o700 });
    try {
      process.env.XDG_RUNTIME_DIR = runtime;
      expect(makeSocketPaths(long()).operator.startsWith(`${runtime}/autowithdraw-`)).toBe(true);
      chmodSync(runtime, 0o755);
      const elsewhere = makeSocketPaths(stateFolder(join(dir, "m".repeat(100)))).operator;
      expect(elsewhere.startsWith(runtime)).toBe(false);
      rmSync(join(elsewhere, ".."), { recursive: true });
    } finally {
      if (before === undefined) delete process.env.XDG_RUNTIME_DIR;
      else process.env.XDG_RUNTIME_DIR = before;
    }
  });
});

describe("a copy of config.json beside it", () => {
  it.each([".config.json.swp", "config.json~", "config.json.bak", "#config.json#"])(
    "%s is named with what it holds",
    (name) => {
      const config = join(dir, "config.json");
      writeFileSync(join(dir, name), '{"mnemonic": "<MNEMONIC>", "apiKey": ""}');
      expect(findSecretCopies(config)).toEqual([]);
      writeFileSync(join(dir, name), 'b0VIM\0"mnemonic": "legal winner",\0"apiKey": "x.y"');
      expect(findSecretCopies(config)).toEqual([
        { path: join(dir, name), secrets: ["mnemonic", "apiKey"] },
      ]);
    },
  );
});

describe.runIf(isRoot)("install --config", () => {
  it("copies the file that an operator named, with any owner, and the copy is root's", async () => {
    const from = join(dir, "config.json");
    const to = join(dir, "installed.json");
    const act = { kind: "copy-private", from, to } as const;
    const context = { from: dir, root: "", node: process.execPath, seal: async () => "" };
    writeFileSync(from, "{}", { mode: 0o600 });
    chownSync(from, outsider, outsider);
    expect(await codeOf(() => carryOutInstallAct(act, context))).toBe("");
    expect(readFileSync(to, "utf8")).toBe("{}");
    expect(await codeOf(() => readTrusted(to, 100, secret))).toBe("");
    chmodSync(from, 0o666);
    expect(await codeOf(() => carryOutInstallAct(act, context))).toBe("FILE_EXPOSED");
    chmodSync(from, 0o600);
    symlinkSync(from, join(dir, "link"));
    expect(
      await codeOf(() => carryOutInstallAct({ ...act, from: join(dir, "link") }, context)),
    ).toBe("FILE_LINK");
  });
});

describe.runIf(isRoot)("crypto on a paired folder", () => {
  const { agent, begin } = pairsOnce();
  const inState = (...names: string[]): string => join(agent.state, ...names);
  const segment = (): string => inState("signer", "ledger", "00000001.jsonl");

  const planted: readonly (readonly [string, string, () => void, () => void])[] = [
    [
      "a ledger that all may write",
      "FILE_EXPOSED",
      () => chmodSync(segment(), 0o666),
      () => chmodSync(segment(), 0o600),
    ],
    [
      "a ledger of an outsider",
      "FILE_OWNER",
      () => chownSync(segment(), outsider, 0),
      () => chownSync(segment(), 0, 0),
    ],
    [
      "a ledger's folder that all may write",
      "FILE_EXPOSED",
      () => chmodSync(inState("signer", "ledger"), 0o777),
      () => chmodSync(inState("signer", "ledger"), 0o700),
    ],
    [
      "a signer's folder that all may write",
      "FILE_EXPOSED",
      () => chmodSync(inState("signer"), 0o777),
      () => chmodSync(inState("signer"), 0o700),
    ],
    [
      "a run folder that all may write",
      "FILE_EXPOSED",
      () => {
        mkdirSync(inState("run"), { recursive: true });
        chmodSync(inState("run"), 0o777);
      },
      () => chmodSync(inState("run"), 0o700),
    ],
    [
      "a keystore of an outsider",
      "FILE_OWNER",
      () => chownSync(inState("signer", "keystore.json"), outsider, 0),
      () => chownSync(inState("signer", "keystore.json"), 0, 0),
    ],
    [
      "a link file of an outsider",
      "FILE_OWNER",
      () => chownSync(inState("courier", "link.json"), outsider, 0),
      () => chownSync(inState("courier", "link.json"), 0, 0),
    ],
    [
      "a pairing.json of an outsider",
      "FILE_OWNER",
      () => chownSync(inState("pairing.json"), outsider, 0),
      () => chownSync(inState("pairing.json"), 0, 0),
    ],
  ];

  it.each(planted)("does not start with %s: %s", async (_, code, plant, mend) => {
    plant();
    const words =
      { FILE_EXPOSED: "can be changed by others", FILE_OWNER: `belongs to user ${outsider}` }[
        code
      ] ?? "";
    try {
      const ill = begin();
      await Promise.race([ill.ended, says(ill, "crypto: ready").catch(() => {})]);
      expect([ill.child.exitCode, ill.output()]).toEqual([2, expect.stringContaining(words)]);
    } finally {
      mend();
    }
    // In the quick tier one start, the next test's, follows all that was corrected.
    if (isLongTier) await says(begin(), "crypto: ready");
  });

  /** Standing in the folder that holds config.json, without naming it. */
  async function unnamed(env: Readonly<Record<string, string>> = {}): Promise<string> {
    const words = [join(projectRoot, "crypto.js"), "--state", agent.state];
    const ran = start(process.execPath, words, {
      cwd: agent.dir,
      logFile: agent.log,
      env: { ...process.env, ...env },
    });
    await Promise.race([ran.ended, says(ran, "crypto: ready").catch(() => {})]);
    ran.child.kill("SIGTERM");
    expect(await ran.ended, ran.output()).toBe(2);
    return ran.output();
  }

  it("takes another user's config.json that an operator named, and none that it would find by itself", async () => {
    chownSync(agent.config, outsider, outsider);
    try {
      expect(await unnamed()).toContain(`there is no file ${join(projectRoot, "config.json")}`);
      expect(await unnamed({ AUTOWITHDRAW_CONFIG: agent.config })).toContain(
        `belongs to user ${outsider}`,
      );
      await says(begin(), "crypto: ready");
    } finally {
      chownSync(agent.config, 0, 0);
    }
  });
});
