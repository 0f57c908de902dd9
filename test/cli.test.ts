/**
 * The commands as people see them: each file of test/cli is a transcript, its `$` lines are run and everything they print must stand
 * there, exit code included. A signer with scripted answers stands behind the socket.
 */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { decodeJwt, decodeProtectedHeader, jwtVerify } from "jose";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ledgerDisk } from "../agent/signer/ledger/disk.ts";
import { createLedger } from "../agent/signer/ledger/ledger.ts";
import type { LedgerLine, WaitView, WithdrawalView } from "../agent/socket/verbs.ts";
import type { Machine } from "../cli/machine.ts";
import { runCommand } from "../cli/main.ts";
import type { Terminal } from "../cli/terminal.ts";
import { projectRoot } from "../scripts/rig.ts";
import { startsTheBuild } from "./support/built.ts";
import { broadcast, held, OperatorSocket, recoveryPlan, refusal, transactionId, well } from "./support/operator-socket.ts";

const folder = fileURLToPath(new URL("./cli", import.meta.url));
const nowMs = 1795210863000; // 2026-11-20 21:41:03 UTC
let dir: string;
let state: string;
const signer = new OperatorSocket();
const courierWell = well.courier as NonNullable<typeof well.courier>;
const chain = courierWell.chains[0] as (typeof courierWell.chains)[number];

class Screen implements Terminal {
  text = "";
  isInteractive = false;
  answer = "no";
  rounds = 0;
  readonly now = (): number => nowMs;
  user = "alice";
  out(text: string): void {
    this.text += text;
  }
  err(text: string): void {
    this.text += text;
  }
  async confirm(question: string): Promise<boolean> {
    this.text += `${question}${this.answer}\n`;
    return this.answer === "yes";
  }
  async sleep(): Promise<boolean> {
    this.rounds -= 1;
    return this.rounds > 0;
  }
}

/** Nothing but what a scene changes: config.json as the signer read it, no service manager, no last words. */
const ordinary: Machine = {
  isUnderUnits: () => false,
  units: () => new Map(),
  lastWords: () => [],
  configOnDisk: () => ({ is: "read", digest: well.config.digest }),
};
let machine = ordinary;

function linkDown(linkDetail: string): void {
  const courier = { ...courierWell, link: "down" as const, linkDetail };
  signer.answers = { status: () => ({ status: { ...well, courier } }) };
}

/** Begins and ends as the address of `held` does. */
const twin = "0x7099abababababAbaBaBABaBaBabAbAbaBA179c8";
const waiting: WaitView = { until: 0, isNew: false, likeness: null, needsTwo: false, confirmed: null };
const likeness = { address: held.address, at: held.requestedAt - 86_400_000, amount: "120", currency: held.currency };

/** What the scripted signer says in each scene a transcript names with `# scene:`. */
const scenes: Readonly<Record<string, () => Promise<void> | void>> = {
  working: () => {
    signer.answers = {
      status: () => ({ status: well }),
      list: ({ openOnly, limit }) => ({
        withdrawals: openOnly === true ? [held, broadcast].slice(0, limit as number) : [held, broadcast],
      }),
      show: ({ transactionId: id }) => {
        const withdrawal = [held, broadcast].find((one) => one.transactionId === id);
        const wait = withdrawal === held ? waiting : null;
        if (withdrawal === undefined) return refusal("WITHDRAWAL_UNKNOWN", "");
        return { withdrawal, history: [{ seq: 12, at: withdrawal.requestedAt, kind: "REQUESTED", detail: "job 7" }], wait };
      },
      approve: () => ({ withdrawal: { ...held, state: "approved", code: "" }, wait: null }),
      refuse: () => ({ withdrawal: { ...held, state: "refused", code: "OPERATOR_REFUSED" } }),
      verify: () => ({ records: 18, segments: 1, head: well.head }),
    };
  },
  empty: () => {
    signer.answers = { list: () => ({ withdrawals: [] }) };
  },
  degraded: () => {
    const courier = {
      ...courierWell,
      link: "down" as const,
      linkDetail: "LINK_SOCKET: ECONNREFUSED",
      chains: [{ ...chain, ok: false, detail: "NODE_UNREACHABLE; http://10.0.0.7:8545 ECONNREFUSED", nativeBalance: "" }],
      waiting: [{ transactionId, why: "funds: 3200.5 usdt-erc20 needed, 100 there" }],
    };
    signer.answers = { status: () => ({ status: { ...well, courier, acked: 12, courierConnected: true } }) };
  },
  released: () => linkDown("LINK_ENDED: closed by the gateway, 4001 refused"),
  replaced: () => linkDown("LINK_ENDED: closed by the gateway, 4000 replaced"),
  behind: () => linkDown("LINK_REFUSED: GATEWAY_BEHIND"),
  // A recovery quarantined what was never signed, and a person has approved others before it.
  waits: () => {
    const courier = { ...courierWell, waiting: [{ transactionId, why: "ACCOUNT_WAITS" }] };
    const counts = { ...well.counts, held: 0, broadcast: 0, approved: 1, quarantined: 1 };
    const quarantined: WithdrawalView = { ...broadcast, state: "quarantined", code: "RECOVERY_HOLD", versions: [] };
    signer.answers = {
      status: () => ({ status: { ...well, courier, counts } }),
      list: () => ({ withdrawals: [{ ...held, state: "approved", code: "" }, quarantined] }),
      show: ({ transactionId: id }) => {
        const withdrawal = id === transactionId ? { ...held, code: "RECOVERY_HOLD" } : quarantined;
        return { withdrawal, history: [], wait: waiting };
      },
      refuse: () => refusal("WITHDRAWAL_BOUND", "nonce 41"),
      finish: () => ({ held: 0, quarantined: 1 }),
    };
  },
  overtaken: () => {
    const courier = { ...courierWell, waiting: [{ transactionId, why: "ACCOUNT_BEHIND" }] };
    const together = { isGatewayBehind: true, isOnlyUnheard: true, gatewayHead: recoveryPlan.head };
    signer.answers = {
      status: () => ({ status: { ...well, courier } }),
      recover: () => ({ plan: { ...recoveryPlan, ...together } }),
    };
  },
  asking: () => {
    const courier = { ...courierWell, chains: [{ ...chain, ok: false, isAsking: true, detail: "asking", nativeBalance: "" }] };
    signer.answers = { status: () => ({ status: { ...well, courier } }) };
  },
  decided: () => {
    signer.answers = {
      show: () => ({ withdrawal: { ...broadcast, transactionId }, history: [], wait: null }),
      approve: () => refusal("WITHDRAWAL_NOT_HELD", "broadcast"),
      refuse: () => refusal("WITHDRAWAL_BOUND", "nonce 41"),
    };
  },
  locked: () => {
    const locked = { locked: "LEDGER_BEHIND_GATEWAY", lockedDetail: "the gateway holds record 25, the ledger ends at 18" };
    signer.answers = {
      status: () => ({ status: { ...well, ...locked } }),
      show: () => ({ withdrawal: held, history: [], wait: waiting }),
      approve: () => refusal("SIGNER_LOCKED", "LEDGER_BEHIND_GATEWAY"),
    };
  },
  offered: () => {
    const locked = { locked: "LEDGER_BEHIND_GATEWAY", lockedDetail: "the gateway holds record 25, the ledger ends at 18" };
    signer.answers = {
      status: () => ({ status: { ...well, ...locked, recovery: "RECOVERY_OFFERED" } }),
      recover: ({ digest }) => ({ plan: recoveryPlan, done: digest !== "" }),
      finish: () => refusal("SIGNER_LOCKED", "LEDGER_BEHIND_GATEWAY"),
    };
  },
  recovering: () => {
    signer.answers = {
      status: () => ({ status: { ...well, recovery: "RECOVERY_HOLD", counts: { ...well.counts, quarantined: 1 } } }),
      recover: () => refusal("RECOVERY_NONE", ""),
      finish: () => ({ held: 1, quarantined: 1 }),
    };
  },
  manual: () => {
    const withdrawal = { ...held, mode: "manual", address: "", code: "POLICY_MANUAL" };
    signer.answers = {
      show: ({ address }) => {
        const isTwin = String(address) === twin;
        return { withdrawal, history: [], wait: { ...waiting, isNew: isTwin, likeness: isTwin ? likeness : null } };
      },
      approve: ({ address }) => ({ withdrawal: { ...withdrawal, address, state: "approved", code: "" }, wait: null }),
    };
  },
  // Two people are wanted; the first yes is there as soon as somebody has given it.
  two: () => {
    let wait: WaitView | null = { ...waiting, needsTwo: true };
    let withdrawal: WithdrawalView = { ...held, code: "POLICY_TWO_APPROVERS" };
    const history: LedgerLine[] = [];
    signer.answers = {
      show: () => ({ withdrawal, history, wait }),
      approve: ({ approver }) => {
        const first = wait?.confirmed?.approver ?? "";
        const by = `by ${approver} (claimed: the socket does not prove names)`;
        if (first === "") {
          wait = { ...waiting, needsTwo: true, confirmed: { approver: String(approver), address: held.address, at: nowMs } };
          withdrawal = { ...held, code: "POLICY_CONFIRMED", changedAt: nowMs };
          history.push({ seq: 19, at: nowMs, kind: "CONFIRMED", detail: `the first yes of two, ${by}, to ${held.address}` });
        } else if (first !== approver) {
          wait = null;
          withdrawal = { ...held, state: "approved", code: "", changedAt: nowMs };
          const what = `${held.amountUnits} base units to ${held.address} on ${held.network}`;
          history.push({ seq: 20, at: nowMs, kind: "APPROVED", detail: `${by}: ${what}` });
        }
        return { withdrawal, wait };
      },
    };
  },
  alike: () => {
    const withdrawal: WithdrawalView = { ...held, address: twin, code: "POLICY_LOOKALIKE" };
    signer.answers = { show: () => ({ withdrawal, history: [], wait: { ...waiting, isNew: true, likeness } }) };
  },
  delayed: () => {
    const withdrawal: WithdrawalView = { ...held, code: "POLICY_NEW_DESTINATION_DELAY" };
    const until = held.requestedAt + 3_600_000;
    signer.answers = { show: () => ({ withdrawal, history: [], wait: { ...waiting, isNew: true, until } }) };
  },
  "delayed beyond": () => {
    const withdrawal: WithdrawalView = { ...held, code: "POLICY_NEW_DESTINATION_DELAY" };
    const until = held.expiresAt + 3_600_000;
    signer.answers = { show: () => ({ withdrawal, history: [], wait: { ...waiting, isNew: true, until } }) };
  },
  stopped: () => signer.close(),
};

beforeEach(async () => {
  machine = ordinary;
  dir = mkdtempSync(join(tmpdir(), "aw-cli-"));
  state = join(dir, "state");
  mkdirSync(join(state, "run"), { recursive: true });
  mkdirSync(join(state, "signer"));
  writeFileSync(join(state, "pairing.json"), JSON.stringify(paired));
  writeFileSync(join(dir, "api.key"), apiKey, { mode: 0o600 });
  await signer.open(join(state, "run", "operator.sock"));
  signer.asked.length = 0;
});
afterEach(async () => {
  await signer.close();
  rmSync(dir, { recursive: true, force: true });
});

const secret = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlYzE";
const apiKey = `k_0123456789abcdef.${secret}.${"0".repeat(32)}`;
const paired = {
  version: 1,
  step: "scrubbed",
  wallet: {
    wallet: well.wallet,
    address: well.accounts[0]?.address,
    depositXpub: `xpub${"6".repeat(107)}`,
    signerKey: "11".repeat(32),
  },
  networks: ["eip155:1"],
  currencies: [
    { id: "eth", network: "eip155:1", contract: "", decimal: 18, maxFee: "0.01" },
    { id: "usdt-erc20", network: "eip155:1", contract: held.contract, decimal: 6, maxFee: "0.01" },
  ],
  gatewayUrl: "https://pay.example.com",
  granted: {
    agent: well.agent,
    merchant: "m_1",
    epoch: 1,
    gatewayKey: "22".repeat(32),
    keyId: "k_0123456789abcdef",
    shortCode: "ABCD-EFGH",
  },
};

/** Runs one command line with the state folder named where it takes one. */
async function run(line: string, screen = new Screen()): Promise<{ code: number; text: string }> {
  const words = line.split(" ").map((word) => word.replace("STATE", state).replace("DIR", dir).replace("ID", transactionId));
  const code = await runCommand(words, screen, machine);
  return { code, text: screen.text };
}

describe("transcripts", () => {
  const files = readdirSync(folder).filter((name) => name.endsWith(".txt"));
  it("are there", () => expect(files.length).toBeGreaterThanOrEqual(5));

  it.each(files)("%s", async (file) => {
    const lines = readFileSync(join(folder, file), "utf8").split("\n");
    const said: string[] = [];
    const screen = new Screen();
    for (const line of lines) {
      if (line.startsWith("# ")) {
        said.push(line);
        const [, what, value = ""] = /^# (scene|terminal|answer): (.*)$/.exec(line) ?? [];
        if (what === "scene") await scenes[value]?.();
        if (what === "terminal") screen.isInteractive = value === "yes";
        if (what === "answer") screen.answer = value;
      }
      if (!line.startsWith("$ ")) continue;
      screen.text = "";
      const { code } = await run(line.slice(2).replace(/^autowithdraw /, ""), screen);
      const text = screen.text.replaceAll(state, "STATE").replaceAll(dir, "DIR");
      said.push(line, `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}[exit ${code}]`, "");
    }
    await expect(`${said.join("\n").trimEnd()}\n`).toMatchFileSnapshot(join(folder, file));
  });
});

describe("what goes over the socket", () => {
  it("an approval names the digest of what was shown, and an address only where there was none", async () => {
    await scenes.working?.();
    const named = { address: "", approver: "alice" };
    expect((await run("approve ID --state STATE --yes")).code).toBe(0);
    expect(signer.asked.at(-1)).toEqual({ verb: "approve", transactionId, digest: held.approvalDigest, ...named });
    await scenes.manual?.();
    expect((await run(`approve ID --state STATE --yes --address ${held.address.toLowerCase()}`)).code).toBe(0);
    expect(signer.asked.at(-1)).toMatchObject({ verb: "approve", address: held.address });
  });

  it("a name goes with every word, this user's own or the one that is given", async () => {
    await scenes.working?.();
    for (const command of ["approve", "refuse"]) {
      expect((await run(`${command} ID --state STATE --yes`)).code).toBe(0);
      expect(signer.asked.at(-1)).toMatchObject({ verb: command, approver: "alice" });
      expect((await run(`${command} ID --state STATE --yes --as bob@shop`)).code).toBe(0);
      expect(signer.asked.at(-1)).toMatchObject({ verb: command, approver: "bob@shop" });
      const screen = new Screen();
      screen.user = "domain user";
      expect((await run(`${command} ID --state STATE --yes --as carol`, screen)).code).toBe(0);
      const decided = signer.asked.length;
      expect((await run(`${command} ID --state STATE --yes`, screen)).code).toBe(2);
      expect((await run(`${command} ID --state STATE --yes --as ${"a".repeat(65)}`)).code).toBe(2);
      expect(signer.asked).toHaveLength(decided);
    }
  });

  it("an address that is given is looked at before the yes", async () => {
    await scenes.manual?.();
    const { text } = await run(`approve ID --state STATE --yes --address ${twin.toLowerCase()}`);
    expect(signer.asked[0]).toMatchObject({ verb: "show", address: twin });
    expect(text).toContain(`to address      ${twin}\n  LOOKS LIKE      ${held.address}\n`);
  });

  it("nothing is decided without a yes", async () => {
    await scenes.working?.();
    for (const command of ["approve", "refuse"]) {
      const screen = new Screen();
      screen.isInteractive = true;
      for (const answer of ["no", "y", "YES please", ""]) {
        screen.answer = answer;
        expect((await run(`${command} ID --state STATE`, screen)).code, answer).toBe(1);
      }
      screen.isInteractive = false;
      expect((await run(`${command} ID --state STATE`, screen)).code).toBe(2);
    }
    expect(signer.asked.every(({ verb }) => verb === "show")).toBe(true);
  });

  it("an address that would not be paid to is refused here already", async () => {
    await scenes.manual?.();
    for (const address of ["0x123", held.address.replace("C8", "c8"), `0x${"0".repeat(40)}`]) {
      expect((await run(`approve ID --state STATE --yes --address ${address}`)).code, address).toBe(1);
    }
    expect((await run("approve ID --state STATE --yes")).code).toBe(2);
    await scenes.working?.();
    expect((await run(`approve ID --state STATE --yes --address 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266`)).code).toBe(2);
    expect(signer.asked.some(({ verb }) => verb === "approve")).toBe(false);
  });

  it("--json prints exactly one line that parses, fine or not", async () => {
    await scenes.working?.();
    const lines = [
      "status",
      "withdrawals",
      "show ID",
      "address eth",
      "address",
      "verify",
      "approve ID --yes",
      "refuse ID --yes",
      "show 0",
      "address btc",
      "nonsense",
    ];
    for (const line of lines) {
      const screen = new Screen();
      const out: string[] = [];
      screen.out = (text) => void out.push(text);
      const { code } = await run(`${line} --state STATE --json`, screen);
      expect(out.join("").split("\n").length, line).toBe(2);
      expect(JSON.parse(out.join("")).ok, line).toBe(code === 0);
    }
  });

  it("status --watch goes on through a signer that is away", async () => {
    await scenes.working?.();
    const screen = new Screen();
    screen.rounds = 3;
    const sleep = screen.sleep.bind(screen);
    screen.sleep = async () => {
      if (screen.rounds === 3) await signer.close();
      if (screen.rounds === 2) await signer.open(join(state, "run", "operator.sock"));
      return sleep();
    };
    const { code, text } = await run("status --watch --state STATE", screen);
    expect(code).toBe(0);
    expect(text.split("everything works").length).toBe(3);
    expect(text).toContain("crypto does not run on");
  });
});

describe("a reader that is gone", () => {
  startsTheBuild();
  it("ends the command quietly", async () => {
    const program = join(projectRoot, "dist", "cli", "main.js");
    const look = `import { main } from ${JSON.stringify(program)}; process.exitCode = await main(["--help"]);`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", look], { stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.destroy();
    let said = "";
    child.stderr.on("data", (text) => {
      said += String(text);
    });
    const code = await new Promise((resolve) => child.once("close", resolve));
    expect([code, said]).toEqual([0, ""]);
  });
});

describe("token", () => {
  it("makes a token that any JWT library verifies", async () => {
    const { code, text } = await run("token --api-key-file DIR/api.key --lifetime 120");
    expect(code, text).toBe(0);
    const token = text.trim();
    const verified = await jwtVerify(token, Buffer.from(secret), { currentDate: new Date(nowMs) });
    expect(verified.payload.sub).toBe("k_0123456789abcdef");
    expect((verified.payload.exp ?? 0) - (verified.payload.iat ?? 0)).toBe(120);
    expect(decodeProtectedHeader(token)).toEqual({ alg: "HS256", typ: "JWT", kid: "k_0123456789abcdef" });
    await expect(jwtVerify(token, Buffer.from("another"), { currentDate: new Date(nowMs) })).rejects.toThrow();
  });

  it("binds a strict token to method, path and body", async () => {
    const line = "token --api-key-file DIR/api.key --profile strict --method post --path /api/v1/autoWithdraw --body {} --json";
    const { text } = await run(line);
    const { signatureToken } = JSON.parse(text);
    expect(decodeJwt(signatureToken)).toMatchObject({
      method: "POST",
      path: "/api/v1/autoWithdraw",
      bodyHash: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
    });
  });

  it.each([
    ["token --api-key-file DIR/none.key", 2],
    ["token --api-key-file DIR/bad.key", 2],
    ["token --api-key-file DIR/open.key", 2],
    ["token --api-key-file DIR/api.key --lifetime 301", 2],
    ["token --api-key-file DIR/api.key --profile strict", 2],
    ["token --api-key-file DIR/api.key --method POST", 2],
    ["token --api-key-file DIR/api.key --profile loose", 2],
  ])("%s", async (line, exit) => {
    writeFileSync(join(dir, "bad.key"), "k_1.2.3", { mode: 0o600 });
    writeFileSync(join(dir, "open.key"), apiKey, { mode: 0o644 });
    const { code, text } = await run(line);
    expect(code, text).toBe(exit);
    expect(text).toMatch(/^crypto: .+\nhint: .+\n$/);
    expect(text).not.toContain(secret);
  });
});

describe("verify without a running signer", () => {
  it("reads the folder itself, and names what is damaged", async () => {
    await signer.close();
    const missing = await run("verify --state STATE");
    expect(missing.code).toBe(4);
    const body = {
      kind: "PAIRED",
      agent: well.agent,
      merchant: "m_1",
      wallet: well.wallet,
      epoch: 1,
      gatewayKey: "22".repeat(32),
    } as const;
    createLedger(ledgerDisk(join(state, "signer", "ledger")), body, () => nowMs);
    const whole = await run("verify --state STATE");
    expect(whole.code, whole.text).toBe(0);
    expect(whole.text).toContain("this command: no signer runs");
    const path = join(state, "signer", "ledger", "00000001.jsonl");
    writeFileSync(path, readFileSync(path, "utf8").replace('"epoch":1', '"epoch":2'));
    const edited = await run("verify --state STATE");
    expect(edited.code).toBe(4);
    expect(edited.text).toMatch(/^crypto: .+\nhint: .+\n$/);
  });
});
