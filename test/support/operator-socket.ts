/**
 * A signer that is only its operator socket: it answers from a table and keeps the requests. For
 * tests of the commands.
 */
import { createServer, type Server } from "node:net";
import { createInterface } from "node:readline";
import type { FirstSlotView } from "../../agent/socket/first-slot.ts";
import type {
  OperatorView,
  OutgoingView,
  RecoveryPlan,
  SignerStatus,
  SpentCoinView,
} from "../../agent/socket/verbs.ts";

/** A coin that a closed withdrawal has spent. */
export const spentCoin: SpentCoinView = {
  chain: "bitcoin",
  network: "bip122:000000000019d6689c085ae165831e93",
  coin: `${"4a5e".repeat(16)}:1`,
  transactionId: "7d793037a0760186574b0282f2f435e7",
  orderId: "order-1000",
  state: "paid",
  txHash: "9fc7".repeat(16),
  isFree: false,
};

interface Asked {
  readonly verb: string;
  readonly [field: string]: unknown;
}

type Answers = Readonly<Record<string, (asked: Asked) => object>>;

export class OperatorSocket {
  readonly asked: Asked[] = [];
  answers: Answers = {};
  #server: Server | null = null;

  async open(path: string): Promise<void> {
    const server = createServer((socket) => {
      createInterface({ input: socket }).on("line", (line) => {
        const { id, ...asked } = JSON.parse(line) as Asked & { readonly id: number };
        this.asked.push(asked as Asked);
        const answer =
          this.answers[asked.verb as string]?.(asked as Asked) ?? refusal("SOCKET_FORMAT", "");
        // A promise stands for a signer that hangs.
        if (!(answer instanceof Promise))
          socket.write(`${JSON.stringify({ id, ok: true, ...answer })}\n`);
      });
      socket.on("error", () => {});
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    this.#server = server;
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server !== null) await new Promise((resolve) => server.close(resolve));
  }
}

export function refusal(code: string, detail: string): object {
  return { ok: false, code, detail, effect: "none" };
}

export const transactionId = "5d41402abc4b2a76b9719d911017c592";
const hotWalletAddress = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";

/** A held withdrawal, every field filled. Times are around 2026-11-20 21:40 UTC. */
export const held: OperatorView = {
  transactionId,
  orderId: "order-1001",
  sequence: 7,
  mode: "auto",
  currency: "usdt-erc20",
  chain: "ethereum",
  network: "eip155:1",
  contract: "0xdAC17F958D2ee523a2206206994597C13D831ec7",
  decimal: 6,
  amount: "3200.5",
  amountUnits: "3200500000",
  address: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  tag: "",
  state: "held",
  code: "POLICY_ABOVE_HOLD",
  requestedAt: 1795210803000,
  changedAt: 1795210803000,
  expiresAt: 1795297203000,
  sender: hotWalletAddress,
  account: hotWalletAddress,
  slot: "",
  attempts: [],
  isOver: false,
  approvalDigest: "ab".repeat(32),
};

export const broadcast: OperatorView = {
  ...held,
  transactionId: "7d793037a0760186574b0282f2f435e7",
  orderId: "order-1000",
  currency: "eth",
  contract: "",
  decimal: 18,
  amount: "0.25",
  amountUnits: "250000000000000000",
  state: "broadcast",
  code: "",
  slot: "41",
  attempts: [
    {
      attempt: 1,
      txHash: "0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b",
      txParams: {
        gasLimit: "21000",
        maxFeePerGas: "30000000000",
        maxPriorityFeePerGas: "1000000000",
      },
      feeMax: "630000000000000",
      signedAt: 1795210805000,
    },
  ],
};

export const well: SignerStatus = {
  agent: "d6b5234d7d4cf922",
  ledgerEpoch: 1,
  wallet: "247acdc38690874463fe3529e9319031",
  head: { seq: 18, hash: "c0".repeat(32) },
  acked: 18,
  handshakeDone: true,
  locked: "",
  lockedDetail: "",
  recovery: "",
  isResyncing: false,
  ...{ clockAheadMs: 0, ledgerAheadMs: 0 },
  paused: null,
  stuck: null,
  ledgerWritable: true,
  isolation: "level 2: own user, no network, system call filter",
  nodesOfGateway: [],
  encKeyFrom: "credential",
  version: "0.1.0",
  config: { path: "/etc/autowithdraw/config.json", digest: "c0".repeat(32), readAt: 1795210000000 },
  policyChangedAt: 1795210000000,
  policyDigest: "44".repeat(32),
  policyLooser: [],
  limits: [],
  freeBytes: 8_000_000_000,
  freeBytesMin: 67_108_864,
  startedAt: 1795210803000,
  counts: {
    held: 1,
    approved: 0,
    intent: 0,
    signed: 0,
    released: 0,
    broadcast: 1,
    included: 0,
    paid: 3,
    reverted: 0,
    conflicted: 0,
    refused: 0,
    expired: 0,
    quarantined: 0,
    cancelled: 0,
    moved: 0,
  },
  accounts: [{ chain: "ethereum", network: "eip155:1", address: hotWalletAddress, nextSlot: "42" }],
  courierConnected: true,
  courier: {
    at: 1795210860000,
    link: "up",
    linkDetail: "",
    chains: [
      {
        chain: "ethereum",
        ok: true,
        isAsking: false,
        detail: "block 21000000",
        block: 21000000,
        headAtMs: 1795210858000,
        nativeBalance: "1250000000000000000",
        nodes: [{ url: "http://10.0.0.7:8545", ok: true, detail: "", since: 0 }],
      },
    ],
    waiting: [],
    durableMedianUs: 1650,
    notify: null,
    outOfService: [],
    lowFunds: [],
    configDigest: "c0".repeat(32),
  },
};

/** A payment that nobody remembers. */
export const outgoingTx: OutgoingView = {
  ...{
    network: "eip155:1",
    slot: "43",
    block: 21000000,
    contract: "",
    units: "250000000000000000",
  },
  ...{ txHash: `0x${"5e".repeat(32)}`, receiver: broadcast.address },
};

/** An account that was used before this agent came. */
export const firstNonce: FirstSlotView = {
  ...{
    chain: "local",
    network: "eip155:31337",
    account: "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
  },
  ...{ adopted: "", isBegun: false, counted: "5", quorum: 2 },
};

/**
 * An order that brings a restored ledger two payments under way; somebody paid two more that nobody
 * remembers.
 */
export const recoveryPlan: RecoveryPlan = {
  digest: "d1".repeat(32),
  order: "0a".repeat(32),
  at: 1795210803000,
  ...{
    ledgerEpoch: 1,
    newLedgerEpoch: 2,
    locked: "LEDGER_BEHIND_GATEWAY",
    lockedDetail: "the gateway holds record 25, the ledger ends at 18",
  },
  head: { seq: 19, hash: "c0".repeat(32) },
  gatewayHead: { seq: 25, hash: "e5".repeat(32) },
  ...{ bothRestored: false, isHere: false },
  accounts: [
    {
      network: "eip155:1",
      account: hotWalletAddress,
      ledgerNext: "41",
      gatewayNext: "42",
      chainCount: "44",
      next: "44",
    },
    {
      network: "eip155:8453",
      account: hotWalletAddress,
      ledgerNext: "3",
      gatewayNext: "",
      chainCount: "",
      next: "3",
    },
  ],
  uncounted: ["eip155:8453"],
  withdrawals: [
    {
      ...{
        transactionId: broadcast.transactionId,
        orderId: "order-1000",
        currency: "eth",
        amount: "0.25",
      },
      ...{ address: broadcast.address, here: "", isContested: false, code: "", slot: "41" },
      txHashes: ["0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b"],
    },
    {
      ...{ transactionId, orderId: "order-1001", currency: "usdt-erc20", amount: "3200.5" },
      ...{
        address: held.address,
        here: "broadcast",
        isContested: true,
        code: "SLOT_CONTESTED",
        slot: "40",
        txHashes: [],
      },
    },
  ],
  unknown: [
    { limitGroup: "eth", count: 1, amount: "0.25", maxPerHour: "1", maxPerDay: "2", above: 0 },
  ],
  ...{ kept: 2, left: 3, outgoing: [] },
};

/**
 * The text of pairing.json, as an object, for a server that is paired on these networks; the agent
 * of `well`.
 */
export function pairedProgress(networks: readonly string[], currencies: readonly object[]): object {
  const accounts = [
    { family: "evm", purpose: "hot", id: well.accounts[0]?.address },
    { family: "evm", purpose: "deposits", id: `xpub${"6".repeat(107)}` },
  ];
  return {
    version: 1,
    step: "scrubbed",
    wallet: { wallet: well.wallet, accounts, signerKey: "11".repeat(32) },
    networks,
    currencies,
    gatewayUrl: "https://pay.example.com",
    granted: {
      agent: well.agent,
      merchant: "m_1",
      ledgerEpoch: 1,
      gatewayKey: "22".repeat(32),
      keyId: "k_0123456789abcdef",
      shortCode: "ABCD-EFGH",
    },
    word: "33".repeat(32),
  };
}
