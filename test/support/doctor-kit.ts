/**
 * A healthy agent's server for `doctor`: real files, a scripted signer on a real socket, two real
 * HTTP nodes and a gateway that only has a clock. Each part can be broken by itself.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { askChainNodes } from "../../agent/check/chains.ts";
import { readConfig } from "../../agent/config/config.ts";
import { configDigest } from "../../agent/config/digest.ts";
import { stateFolder } from "../../agent/files/state-folder.ts";
import type { LimitView, OperatorView, SignerStatus } from "../../agent/socket/verbs.ts";
import { version } from "../../base/version.ts";
import { runDoctor } from "../../cli/doctor/doctor.ts";
import { gatewayTime, type MachineAccess } from "../../cli/doctor/outside.ts";
import { thisMachine, type UnitView } from "../../cli/machine.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { type FakeNode, type RpcCall, startFakeNode } from "../../lab/kit/fake-node.ts";
import { broadcast, OperatorSocket, pairedProgress, refusal, well } from "./operator-socket.ts";

export const nowMs = 1795210863000; // 2026-11-20 21:41:03 UTC
const usdt = "0xdAC17F958D2ee523a2206206994597C13D831ec7";

/** The answers of one of the two nodes; a test changes a field. */
interface Chain {
  chainId: number;
  block: number;
  blockAtMs: number;
  hash: string;
  code: string;
  decimals: number;
}

interface Report {
  readonly exit: number;
  readonly text: string;
  readonly codes: readonly string[];
  readonly hints: readonly string[];
  readonly unseen: readonly string[];
}

export class DoctorKit {
  readonly dir = mkdtempSync(join(tmpdir(), "aw-doctor-"));
  readonly state = stateFolder(join(this.dir, "agent", "state"));
  readonly configPath = join(this.dir, "etc", "config.json");
  readonly signer = new OperatorSocket();
  readonly chains: Chain[] = [];
  readonly nodes: FakeNode[] = [];
  status: SignerStatus = well;
  withdrawals: OperatorView[] = [];
  verify: () => object = () => ({ records: 18, segments: 1, head: well.head });
  gatewayAheadMs = 0;
  isUnderUnits = false;
  units = new Map<string, UnitView>();
  exposures = new Map<string, number>();
  config: Record<string, unknown> = {};
  outside: MachineAccess;
  #gateway: Server | null = null;

  constructor() {
    this.outside = {
      machine: { ...thisMachine, isUnderUnits: () => this.isUnderUnits, units: () => this.units },
      now: () => nowMs,
      nodeVersion: "v24.11.0",
      mounts: () => "/dev/sda1 / ext4 rw 0 0\ntmpfs /run tmpfs rw 0 0\n",
      syncsMs: () => [1, 2, 3],
      freeBytes: () => 8_000_000_000,
      stateFolders: () => [join(this.dir, "agent", "other"), join(this.dir, "agent", "none")],
      exposure: (unit) => this.exposures.get(unit) ?? null,
      gatewayTime: (url) => gatewayTime(url, () => this.outside.now()),
      leaveBy: () => {},
      chains: (settings) => askChainNodes(settings, 1_000),
    };
  }

  async open(): Promise<void> {
    const { state } = this;
    for (const folder of [
      join(this.dir, "etc"),
      join(state.signer, "ledger"),
      state.courier,
      state.run,
    ])
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const folder of [state.root, state.signer, join(state.signer, "ledger")])
      chmodSync(folder, 0o700);
    this.writeKeystore(state.signer, well.wallet);
    const own = { mode: 0o600 };
    writeFileSync(join(state.signer, "ledger", "00000001.jsonl"), "{}\n", own);
    writeFileSync(join(state.courier, "link.json"), "{}", own);
    writeFileSync(state.pairing, JSON.stringify(paired), own);
    for (const _ of [1, 2]) {
      const chain = {
        chainId: 31337,
        block: 21_000_000,
        blockAtMs: nowMs - 5_000,
        hash: `0x${"ab".repeat(32)}`,
        code: "0x60",
        decimals: 6,
      };
      this.chains.push(chain);
      this.nodes.push(await startFakeNode({ answer: (call) => answered(chain, call) }));
    }
    this.#gateway = createServer((_, response) => {
      response.setHeader("date", new Date(this.outside.now() + this.gatewayAheadMs).toUTCString());
      response.end();
    });
    await new Promise<void>((resolve) => this.#gateway?.listen(0, "127.0.0.1", resolve));
    this.config = this.healthyConfig();
    this.writeConfig();
    this.signer.answers = {
      status: () => ({ status: this.status }),
      list: () => ({ withdrawals: this.withdrawals }),
      verify: () => this.verify(),
    };
    await this.signer.open(join(state.run, "operator.sock"));
    chmodSync(join(state.run, "operator.sock"), 0o660);
  }

  get gatewayUrl(): string {
    const address = this.#gateway?.address() as AddressInfo | undefined;
    return `http://127.0.0.1:${address?.port}`;
  }

  /** Another day, on which everything is as well as before. */
  at(ms: number): void {
    this.outside = { ...this.outside, now: () => ms };
    this.courier({ at: ms });
    for (const chain of this.chains) chain.blockAtMs = ms - 5_000;
  }

  healthyConfig(): Record<string, unknown> {
    const limits = { maxPerWithdrawal: "10", maxPerDay: "50", maxFee: "0.01", maxFeePerDay: "0.5" };
    return {
      gatewayUrl: this.gatewayUrl,
      chains: {
        local: {
          family: "evm",
          chainId: 31337,
          nodes: this.nodes.map((node) => node.url),
          confirmations: 1,
        },
      },
      currencies: {
        eth: { chain: "local", decimal: 18 },
        usdt: { chain: "local", decimal: 6, contract: usdt },
      },
      policy: { eth: limits, usdt: limits },
    };
  }

  /** Writes config.json, and by default lets the signer go by it. */
  writeConfig(change: Record<string, unknown> = {}, isTaken = true): void {
    this.config = { ...this.config, ...change };
    writeFileSync(this.configPath, JSON.stringify(this.config), { mode: 0o600 });
    if (!isTaken) return;
    const digest = configDigest(readConfig(this.configPath, { requireSecrets: [] }).settings);
    const { courier } = well;
    if (courier === null) throw new Error("a healthy signer has a report of its courier");
    this.status = {
      ...this.status,
      version,
      config: { path: this.configPath, digest, readAt: nowMs - 60_000 },
      limits: [limitOf("eth")],
      courier: { ...courier, at: nowMs, configDigest: digest },
    };
  }

  writeKeystore(folder: string, wallet: string): void {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const kdf = { name: "hkdf", salt: "11".repeat(32) };
    const text = {
      version: 1,
      wallet,
      networks: ["eip155:31337"],
      kdf,
      boxNonce: "22".repeat(24),
      box: "33".repeat(186),
    };
    writeFileSync(join(folder, "keystore.json"), JSON.stringify(text), { mode: 0o600 });
  }

  says(change: Partial<SignerStatus>): void {
    this.status = { ...this.status, ...change };
  }

  sees(change: Partial<MachineAccess>): void {
    this.outside = { ...this.outside, ...change };
  }

  /** The second of the two nodes. */
  node(change: Partial<Chain>): void {
    Object.assign(this.chains[1] ?? {}, change);
  }

  gatewayIsAhead(ms: number): void {
    this.gatewayAheadMs = ms;
  }

  answers(change: Partial<Pick<DoctorKit, "withdrawals" | "verify">>): void {
    Object.assign(this, change);
  }

  /** A courier whose reports differ from a healthy one's. */
  courier(change: Partial<NonNullable<SignerStatus["courier"]>>): void {
    const { courier } = this.status;
    if (courier !== null) this.status = { ...this.status, courier: { ...courier, ...change } };
  }

  /** `config` names the file, as an operator must when no signer does. */
  async run(config?: string): Promise<Report> {
    const json: string[] = [];
    const plain: string[] = [];
    const exit = await runDoctor(this.state, { json: true, config }, terminal(json), this.outside);
    await runDoctor(this.state, { config }, terminal(plain), this.outside);
    const { findings, unseen } = JSON.parse(json.join("")) as {
      readonly findings: readonly { readonly code: string; readonly hint: string }[];
      readonly unseen: readonly string[];
    };
    return {
      exit,
      text: plain.join("").replaceAll(this.dir, "DIR"),
      codes: findings.map(({ code }) => code),
      hints: findings.map(({ hint }) => hint),
      unseen,
    };
  }

  async close(): Promise<void> {
    await this.signer.close();
    await Promise.all(this.nodes.map((node) => node.close()));
    await new Promise<void>((resolve) => {
      this.#gateway?.close(() => resolve());
      this.#gateway?.closeAllConnections();
    });
    rmSync(this.dir, { recursive: true, force: true });
  }
}

function terminal(lines: string[]): Terminal {
  const out = (text: string): void => void lines.push(text);
  return {
    out,
    err: out,
    user: "alice",
    isInteractive: false,
    confirm: async () => false,
    now: () => nowMs,
    sleep: async () => false,
  };
}

/** `count` payments of `amountUnits` each, an hour apart. */
export function paid(count: number, amountUnits: bigint): OperatorView[] {
  return Array.from({ length: count }, (_, at) => ({
    ...broadcast,
    transactionId: String(at).padStart(32, "0"),
    state: "paid" as const,
    amountUnits: `${amountUnits}`,
    requestedAt: nowMs - at * 3_600_000,
  }));
}

function limitOf(currency: string): LimitView {
  return {
    network: "eip155:1",
    contract: "",
    ...{
      currency,
      maxPerWithdrawal: "10",
      maxPerHour: "",
      maxPerDay: "50",
      holdAbove: "",
      maxFee: "0.01",
      maxFeePerDay: "0.5",
    },
    ...{
      maxTip: "50",
      tipUnit: "gwei",
      sweeps: null,
      allow: 0,
      deny: 0,
      usedInHour: "0",
      usedInDay: "0",
      usedFeesInDay: "0",
      twoApproversAbove: "",
      manualReplaceAbove: "",
      newDestination: { holdAbove: "", delayMinutes: 0 },
    },
  };
}

function answered(
  chain: Chain,
  { method, params }: RpcCall,
): { result: unknown } | { error: { code: number; message: string } } {
  const hexed = (value: number): string => `0x${value.toString(16)}`;
  switch (method) {
    case "eth_chainId":
      return { result: hexed(chain.chainId) };
    case "eth_getBlockByNumber": {
      const number =
        params[0] === "latest" || params[0] === "finalized" ? chain.block : Number(params[0]);
      const timestamp = hexed(Math.floor(chain.blockAtMs / 1000));
      const block = {
        hash: chain.hash,
        parentHash: `0x${"cd".repeat(32)}`,
        baseFeePerGas: "0x1",
        transactions: [],
      };
      return { result: { ...block, number: hexed(number), timestamp } };
    }
    case "eth_getCode":
      return { result: chain.code };
    case "eth_call":
      return { result: `0x${chain.decimals.toString(16).padStart(64, "0")}` };
    case "eth_getBalance":
    case "eth_getTransactionCount":
      return { result: "0x0" };
    case "eth_estimateGas":
    case "eth_maxPriorityFeePerGas":
      return { result: "0x5208" };
    case "eth_getLogs":
    case "eth_getBlockReceipts":
      return { result: [] };
    default:
      return { error: { code: -32601, message: `no ${method} here` } };
  }
}

export { refusal };

const paired = pairedProgress(
  ["eip155:31337"],
  [{ id: "eth", network: "eip155:31337", contract: "", decimal: 18, maxFee: "0.01" }],
);
