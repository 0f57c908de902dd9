/**
 * Broken set-ups for `doctor`, one thing broken in each: before the break nothing is found, and
 * afterwards exactly the code of the break, with a line to type. The files, sockets, nodes and
 * clocks are real; only what no test may break on this machine comes from outside.
 */
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isCopyNameOf } from "../../cli/config-copies.ts";
import { fileSystemOf } from "../../cli/doctor/machine.ts";
import { exposureIn } from "../../cli/doctor/outside.ts";
import { isLongTier } from "../../lab/kit/share.ts";
import { DoctorKit, nowMs, paid, refusal } from "../support/doctor-kit.ts";
import { closedPort } from "../support/evm-nodes.ts";

let kit: DoctorKit;
beforeEach(async () => {
  kit = new DoctorKit();
  await kit.open();
});
afterEach(() => kit.close());

const isRoot = process.geteuid?.() === 0;
const secret = `{ "mnemonic": "one two three" }`;
const beside = (name: string): string => join(kit.dir, "etc", name);
const inSigner = (name: string): string => join(kit.state.signer, name);
const nodesOf = (...nodes: string[]): object => ({
  local: { family: "evm", chainId: 31337, nodes, confirmations: 1 },
});
const currencies = (decimal: number): object => ({
  ...(kit.config.currencies as object),
  usdt: { ...(kit.config.currencies as { usdt: object }).usdt, decimal },
});
const underUnits = (): void => {
  kit.isUnderUnits = true;
  for (const name of ["autowithdraw-signer.service", "autowithdraw-courier.service"])
    kit.units.set(name, { Id: name, ActiveState: "active", NRestarts: "0" });
  kit.exposures.set("autowithdraw-signer.service", 0.2).set("autowithdraw-courier.service", 1.3);
};

type Break = () => void | Promise<void>;
/** The broken part, its code, the act that breaks it, and the act that must come before. */
const cases: readonly (readonly [what: string, code: string, broken: Break, before?: Break])[] = [
  // files
  [
    "a keystore that its group can read",
    "FILE_EXPOSED",
    () => chmodSync(inSigner("keystore.json"), 0o640),
  ],
  [
    "a link file that all can read",
    "FILE_EXPOSED",
    () => chmodSync(join(kit.state.courier, "link.json"), 0o604),
  ],
  [
    "a ledger segment that all can read",
    "DOCTOR_FILE_RIGHTS",
    () => chmodSync(inSigner("ledger/00000001.jsonl"), 0o644),
  ],
  [
    "a signer's folder that all may enter",
    "DOCTOR_FILE_RIGHTS",
    () => chmodSync(kit.state.signer, 0o711),
  ],
  [
    "a state folder that all may list",
    "DOCTOR_FILE_RIGHTS",
    () => chmodSync(kit.state.root, 0o755),
  ],
  [
    "an operators' socket that all may use",
    "DOCTOR_FILE_RIGHTS",
    () => chmodSync(join(kit.state.run, "operator.sock"), 0o666),
  ],
  ["a run folder that the group may write", "FILE_EXPOSED", () => chmodSync(kit.state.run, 0o770)],
  [
    "a keystore that is a symbolic link",
    "DOCTOR_FILE_LINK",
    () => {
      renameSync(inSigner("keystore.json"), join(kit.dir, "moved.json"));
      symlinkSync(join(kit.dir, "moved.json"), inSigner("keystore.json"));
    },
  ],
  [
    "a keystore with a second name",
    "DOCTOR_FILE_LINK",
    () => linkSync(inSigner("keystore.json"), join(kit.dir, "second.json")),
  ],
  ["no keystore", "STATE_INCOMPLETE", () => rmSync(inSigner("keystore.json"))],
  ["no link file", "STATE_INCOMPLETE", () => rmSync(join(kit.state.courier, "link.json"))],
  ["no ledger", "LEDGER_MISSING", () => rmSync(inSigner("ledger"), { recursive: true })],
  ["a pairing file that is none", "PAIRING_PROGRESS", () => writeFileSync(kit.state.pairing, "{}")],
  [
    "encKey in the state folder",
    "DOCTOR_ENCKEY_BESIDE",
    () => writeFileSync(join(kit.state.root, "encKey"), "k", { mode: 0o600 }),
  ],
  [
    "encKey beside the keystore",
    "DOCTOR_ENCKEY_BESIDE",
    () => writeFileSync(inSigner("enc-key.txt"), "k", { mode: 0o600 }),
  ],
  [
    "a plain encKey beside the credential",
    "DOCTOR_ENCKEY_PLAIN",
    () => writeFileSync(beside("encKey"), "k", { mode: 0o600 }),
    () => writeFileSync(beside("encKey.cred"), "sealed", { mode: 0o600 }),
  ],
  [
    "a second agent beside this one",
    "DOCTOR_AGENTS_MANY",
    () => kit.writeKeystore(join(kit.dir, "agent", "other", "signer"), "ee".repeat(16)),
  ],
  [
    "a copy of this agent's folder",
    "DOCTOR_AGENTS_MANY",
    () => kit.writeKeystore(join(kit.dir, "agent", "other", "signer"), kit.status.wallet),
    () => mkdirSync(join(kit.dir, "agent", "other")),
  ],
  // config.json
  ["a config.json that others can read", "FILE_EXPOSED", () => chmodSync(kit.configPath, 0o644)],
  [
    "a config.json that is no JSON",
    "CONFIG_JSON",
    () => writeFileSync(kit.configPath, "{,", { mode: 0o600 }),
  ],
  ["a key that nothing reads", "CONFIG_UNKNOWN_KEY", () => kit.writeConfig({ polcy: {} }, false)],
  ["a config.json that is gone", "CONFIG_MISSING", () => rmSync(kit.configPath)],
  [
    "a limit lowered on disk and not in force",
    "DOCTOR_CONFIG_OTHER",
    () => {
      const policy = kit.config.policy as { eth: object };
      kit.writeConfig({ policy: { ...policy, eth: { ...policy.eth, maxPerDay: "20" } } }, false);
    },
  ],
  [
    "a courier with another config.json",
    "DOCTOR_CONFIG_COURIER",
    () => kit.courier({ configDigest: "ee".repeat(32) }),
  ],
  [
    "a mnemonic left after pairing",
    "PAIRING_SECRETS_KEPT",
    () => kit.writeConfig({ mnemonic: "one two three" }),
  ],
  [
    "encKey in config.json",
    "DOCTOR_ENCKEY_BESIDE",
    () => kit.writeConfig({ encKey: "0123456789abcdef" }),
  ],
  [
    "encKey in config.json under the units",
    "CONFIG_SECRET_PRESENT",
    () => kit.writeConfig({ encKey: "0123456789abcdef" }),
    underUnits,
  ],
  [
    "a currency without a policy",
    "POLICY_NONE",
    () => kit.writeConfig({ policy: { eth: (kit.config.policy as { eth: object }).eth } }),
  ],
  [
    "an editor's copy of config.json",
    "DOCTOR_CONFIG_COPY",
    () => writeFileSync(beside("config.json~"), "{}"),
  ],
  [
    "a swap file that holds the mnemonic",
    "DOCTOR_CONFIG_COPY_SECRET",
    () => writeFileSync(beside(".config.json.swp"), `b0VIM\0${secret}`),
  ],
  [
    "a downloaded copy that holds the mnemonic",
    "DOCTOR_CONFIG_COPY_SECRET",
    () => writeFileSync(beside("config (1).json"), secret),
  ],
  // chains
  [
    "a node that is away",
    "NODE_UNREACHABLE",
    async () =>
      kit.writeConfig({
        chains: nodesOf(kit.nodes[0]!.url, `http://127.0.0.1:${await closedPort()}`),
      }),
  ],
  ["a node of another chain", "NODE_WRONG_CHAIN", () => kit.node({ chainId: 1 })],
  ["two nodes on two branches", "NODE_DISAGREE", () => kit.node({ hash: `0x${"ba".repeat(32)}` })],
  [
    "a node far behind",
    "DOCTOR_CHAIN_LAG",
    () => kit.node({ block: 20_999_900, blockAtMs: nowMs - 900_000 }),
  ],
  [
    "plain http to another machine",
    "DOCTOR_CHAIN_PLAIN",
    () => {
      const asked = kit.config;
      kit.writeConfig({ chains: nodesOf("http://node.example.com:8545", kit.nodes[1]!.url) });
      // Nobody is asked outside this machine: the answers are those of the healthy nodes.
      const { chains } = kit.outside;
      kit.outside = {
        ...kit.outside,
        chains: () => chains({ ...asked } as unknown as Parameters<typeof chains>[0]),
      };
    },
  ],
  [
    "a token with other decimals",
    "CHECK_DECIMALS",
    () => kit.writeConfig({ currencies: currencies(18) }),
  ],
  [
    "a contract that is none",
    "CHECK_CONTRACT",
    () => {
      for (const chain of kit.chains) chain.code = "0x";
    },
  ],
  // clocks
  ["a gateway four minutes ahead", "DOCTOR_CLOCK_GATEWAY", () => kit.gatewayIsAhead(240_000)],
  ["a gateway an hour behind", "DOCTOR_CLOCK_GATEWAY", () => kit.gatewayIsAhead(-3_600_000)],
  [
    "this machine an hour behind",
    "DOCTOR_CLOCK_HERE",
    () => {
      kit.gatewayAheadMs = 3_600_000;
      for (const chain of kit.chains) chain.blockAtMs = nowMs + 3_595_000;
    },
  ],
  [
    "this machine an hour ahead",
    "DOCTOR_CLOCK_HERE",
    () => {
      kit.gatewayAheadMs = -3_600_000;
      for (const chain of kit.chains) chain.blockAtMs = nowMs - 3_605_000;
    },
  ],
  [
    "two clocks apart and a chain that says nothing",
    "CLOCK_SKEW",
    () => {
      kit.gatewayAheadMs = 300_000;
      for (const chain of kit.chains) chain.blockAtMs = nowMs - 86_400_000;
    },
  ],
  // the machine
  ["a Node without updates", "DOCTOR_NODEJS_END", () => kit.sees({ nodeVersion: "v18.20.4" })],
  [
    "a Node near its end",
    "DOCTOR_NODEJS_END",
    () => kit.at(Date.parse("2027-03-01")),
    () => {
      kit.outside = { ...kit.outside, nodeVersion: "v22.11.0" };
      kit.at(Date.parse("2027-01-01"));
    },
  ],
  [
    "a state folder in memory",
    "DOCTOR_DISK_KIND",
    () => kit.sees({ mounts: () => `/dev/sda1 / ext4 rw 0 0\ntmpfs ${kit.dir} tmpfs rw 0 0\n` }),
  ],
  [
    "a state folder on the network",
    "DOCTOR_DISK_KIND",
    () => kit.sees({ mounts: () => `/dev/sda1 / ext4 rw 0 0\nnas:/a ${kit.dir} nfs4 rw 0 0\n` }),
  ],
  [
    "a container's own layer",
    "DOCTOR_DISK_KIND",
    () => kit.sees({ mounts: () => "overlay / overlay rw 0 0\n" }),
  ],
  ["a slow disk", "DOCTOR_DISK_SLOW", () => kit.sees({ syncsMs: () => [60, 80, 2] })],
  [
    "a disk that was mounted read-only",
    "LEDGER_READ_ONLY",
    () => {
      const syncsMs = (): never => {
        throw Object.assign(new Error("read-only"), { code: "EROFS" });
      };
      kit.outside = { ...kit.outside, syncsMs };
    },
  ],
  [
    "a unit that has failed",
    "DOCTOR_UNIT_FAILED",
    () =>
      void kit.units.set("autowithdraw-courier.service", {
        Id: "autowithdraw-courier.service",
        ActiveState: "failed",
        Result: "exit-code",
        ExecMainStatus: "2",
      }),
    underUnits,
  ],
  [
    "a unit that starts again and again",
    "DOCTOR_UNIT_FAILED",
    () =>
      void kit.units.set("autowithdraw-courier.service", {
        Id: "autowithdraw-courier.service",
        ActiveState: "active",
        NRestarts: "41",
      }),
    underUnits,
  ],
  [
    "a unit opened by a drop-in",
    "DOCTOR_UNIT_EXPOSED",
    () => void kit.exposures.set("autowithdraw-signer.service", 4.1),
    underUnits,
  ],
  // the agent by its own word
  [
    "a full disk",
    "LEDGER_DISK_FULL",
    () => kit.says({ freeBytes: 1_000_000, ledgerWritable: false }),
  ],
  ["a disk that is nearly full", "DOCTOR_DISK_LOW", () => kit.says({ freeBytes: 200_000_000 })],
  [
    "orders that wait for the disk",
    "LEDGER_DISK_FULL",
    () => kit.courier({ linkDetail: "LEDGER_DISK_FULL: the signer does not take new orders" }),
  ],
  ["a ledger that failed", "LEDGER_POISONED", () => kit.says({ ledgerWritable: false })],
  [
    "a ledger on a read-only disk",
    "LEDGER_READ_ONLY",
    () => kit.says({ ledgerWritable: false, ledgerReadOnly: true }),
  ],
  [
    "a signer that is root",
    "DOCTOR_ISOLATION",
    () => kit.says({ isolation: "level 0: one user, and it is root" }),
  ],
  [
    "a signer with its courier's user",
    "DOCTOR_ISOLATION",
    () => kit.says({ isolation: "level 0: one user" }),
  ],
  [
    "a unit that leaves the network in reach",
    "DOCTOR_ISOLATION",
    () => kit.says({ isolation: "level 1: own user; network in reach" }),
    underUnits,
  ],
  ["a signer of an older version", "DOCTOR_VERSION_OTHER", () => kit.says({ version: "0.0.9" })],
  [
    "a locked signer",
    "LEDGER_BEHIND_GATEWAY",
    () =>
      kit.says({ locked: "LEDGER_BEHIND_GATEWAY", lockedDetail: "the gateway holds record 25" }),
  ],
  ["a recovery that waits", "RECOVERY_OFFERED", () => kit.says({ recovery: "RECOVERY_OFFERED" })],
  ["a courier that is gone", "DOCTOR_COURIER_AWAY", () => kit.says({ courierConnected: false })],
  ["a courier that is silent", "DOCTOR_COURIER_AWAY", () => kit.courier({ at: nowMs - 120_000 })],
  [
    "a link that is down",
    "LINK_SOCKET",
    () => kit.courier({ link: "down", linkDetail: "LINK_SOCKET: ECONNREFUSED" }),
  ],
  [
    "a damaged ledger",
    "LEDGER_DAMAGED",
    () => kit.answers({ verify: () => refusal("LEDGER_DAMAGED", "00000001.jsonl, line 7") }),
  ],
  [
    "a limit far above what was ever paid",
    "DOCTOR_LIMIT_WIDE",
    () => kit.answers({ withdrawals: paid(12, 20_000_000_000_000_000n) }),
    () => kit.answers({ withdrawals: paid(12, 2_000_000_000_000_000_000n) }),
  ],
];

describe("doctor finds", () => {
  it("doctor has at least forty set-ups to find broken", () =>
    expect(cases.length).toBeGreaterThanOrEqual(40));

  it("nothing in the set-up that each of them breaks", async () => {
    const healthy = await kit.run();
    expect(healthy, healthy.text).toMatchObject({ exit: 0, codes: [], unseen: [] });
  });

  it.each(cases as readonly [string, string, Break, Break?][])(
    "%s: %s",
    async (_, code, broken, before) => {
      await before?.();
      // Without an act before the break it is the set-up of the test above.
      if (isLongTier || before !== undefined) {
        const healthy = await kit.run();
        expect(healthy, healthy.text).toMatchObject({ exit: 0, codes: [], unseen: [] });
      }
      await broken();
      const ill = await kit.run();
      expect([...new Set(ill.codes)], ill.text).toEqual([code]);
      expect(ill.exit).toBe(1);
      expect(ill.hints.every((hint) => hint.length > 5)).toBe(true);
    },
  );

  it.runIf(isRoot)("a file of root's in the signer's folder: DOCTOR_FILE_OWNER", async () => {
    for (const name of ["", "ledger", "ledger/00000001.jsonl", "keystore.json"])
      chownSync(inSigner(name), 4711, 4711);
    expect((await kit.run()).codes).toEqual([]);
    chownSync(inSigner("ledger/00000001.jsonl"), 0, 0);
    const ill = await kit.run();
    expect(ill.codes).toEqual(["DOCTOR_FILE_OWNER"]);
    expect(ill.hints[0]).toBe(`chown -R --reference=${kit.state.signer} ${kit.state.signer}`);
  });
});

describe("doctor without a signer", () => {
  it("says that none runs, and still looks at everything else", async () => {
    await kit.signer.close();
    rmSync(inSigner("ledger/00000001.jsonl"));
    const ill = await kit.run();
    expect(ill.codes).toContain("COMMAND_DAEMON_AWAY");
    expect(ill.codes).toContain("LEDGER_MISSING");
  });

  it("judges the disk's room by itself", async () => {
    await kit.signer.close();
    kit.outside = { ...kit.outside, freeBytes: () => 1_000_000 };
    expect((await kit.run()).codes).toContain("LEDGER_DISK_FULL");
    kit.outside = { ...kit.outside, freeBytes: () => 100_000_000 };
    expect((await kit.run()).codes).toContain("DOCTOR_DISK_LOW");
  });

  it("says of a folder that holds no agent just that", async () => {
    await kit.signer.close();
    rmSync(kit.state.pairing);
    rmSync(inSigner("keystore.json"));
    expect((await kit.run(kit.configPath)).codes).toEqual(["STATE_NOT_PAIRED"]);
  });
});

describe("doctor as somebody with few rights", () => {
  it.runIf(isRoot)(
    "doctor with few rights says what it could not look at, and ends with a missing right only where that is everything",
    async () => {
      chmodSync(kit.dir, 0o711);
      chmodSync(join(kit.dir, "agent"), 0o711);
      chmodSync(kit.state.root, 0o711);
      chmodSync(kit.state.run, 0o711);
      chmodSync(join(kit.state.run, "operator.sock"), 0o666);
      process.seteuid?.(65_534);
      try {
        const seen = await kit.run();
        expect(seen.unseen.some((one) => one.includes("signer"))).toBe(true);
        expect(seen.codes).toEqual([]);
        process.seteuid?.(0);
        chmodSync(kit.state.root, 0o700);
        chmodSync(kit.dir, 0o700);
        process.seteuid?.(65_534);
        await expect(kit.run()).rejects.toMatchObject({ code: "COMMAND_RIGHT" });
      } finally {
        process.seteuid?.(0);
      }
    },
  );
});

describe("the files that doctor reads", () => {
  it.each([
    "config.json~",
    ".config.json.swp",
    "#config.json#",
    "config.json.bak",
    "config.json.orig",
    "config.json.save",
    "config (1).json",
    "config.json.new",
    "config copy.json",
    "config-old.json",
    "config.json.2026-11-01",
    "config.json.dpkg-dist",
    "Copy of config.json",
    "config_backup.json",
    ".config.json.swo",
    ".#config.json",
    "config.json.1",
  ])("%s is a copy of config.json", (name) => expect(isCopyNameOf(name, "config.json")).toBe(true));

  it.each([
    "config.json",
    "config.example.json",
    "gateway.config.json",
    "configure.json",
    "my-config.json",
    "encKey.cred",
    "config.d",
  ])("%s is no copy of config.json", (name) =>
    expect(isCopyNameOf(name, "config.json")).toBe(false),
  );

  it("a placeholder in a copy is no secret", async () => {
    writeFileSync(beside("config.json.bak"), `{ "mnemonic": "<MNEMONIC>", "apiKey": "" }`);
    expect((await kit.run()).codes).toEqual(["DOCTOR_CONFIG_COPY"]);
  });

  it("the mount point nearest above a folder decides", () => {
    const mounts = "/dev/a / ext4 rw 0 0\ntmpfs /var tmpfs rw 0 0\n/dev/b /var/lib xfs rw 0 0\n";
    expect(fileSystemOf("/var/lib/autowithdraw", mounts)).toBe("xfs");
    expect(fileSystemOf("/var/library", mounts)).toBe("tmpfs");
    expect(fileSystemOf("/etc", mounts)).toBe("ext4");
  });

  it("the last line of systemd-analyze has the level", () => {
    expect(
      exposureIn("→ Overall exposure level for autowithdraw-signer.service: 0.2 SAFE 😀\n"),
    ).toBe(0.2);
    expect(exposureIn("Unit autowithdraw-courier.service not found.\n")).toBe(null);
  });

  it("a gateway that is away leaves its clock unseen, and is the link's to tell", async () => {
    kit.writeConfig({ gatewayUrl: `http://127.0.0.1:${await closedPort()}` });
    const seen = await kit.run();
    expect(seen.codes).toEqual([]);
    expect(seen.unseen).toHaveLength(1);
  });

  it("a socket that takes the question and never answers is a signer that hangs", async () => {
    await kit.signer.close();
    const path = join(kit.state.run, "operator.sock");
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(path, resolve));
    chmodSync(path, 0o660);
    try {
      expect((await kit.run(kit.configPath)).codes).toEqual(["SOCKET_TIMEOUT"]);
    } finally {
      silent.close();
    }
  });
});
