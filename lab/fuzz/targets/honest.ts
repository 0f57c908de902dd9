/**
 * Honest messages of every kind, as objects: what the targets seed their corpora with and malform.
 */
import { privateKeyFromSeed, signJob } from "../../../protocol/envelope.ts";
import { deriveOrderTransactionId, jobHashOf, zeroHash } from "../../../protocol/identity.ts";

export const agent = "aa".repeat(8);
export const wallet = "bb".repeat(16);
export const receiver = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
export const hotWallet = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
export const at = 1_700_000_000_000;
const gatewayKey = privateKeyFromSeed(new Uint8Array(32).fill(5));
const hash = (digit: string): string => digit.repeat(64);
const head = { seq: 7, hash: hash("c") };
const transactionId = deriveOrderTransactionId({
  merchant: "m1",
  operation: "withdraw",
  orderId: "order-1",
});

export const job = {
  ...{
    agent,
    wallet,
    network: "eip155:31337",
    ledgerEpoch: 1,
    sequence: 1,
    previous: zeroHash,
    issuedAt: at,
    expiresAt: at + 86_400_000,
  },
  ...{
    mode: "auto",
    transactionId,
    orderId: "order-1",
    currency: "usdt",
    amount: "1.5",
    address: receiver,
    tag: "",
  },
};
const second = {
  ...job,
  sequence: 2,
  previous: jobHashOf(JSON.stringify(job)),
  mode: "manual",
  address: "",
  tag: "7",
};

export const entries = [
  {
    kind: "decision",
    seq: 3,
    at,
    transactionId,
    decision: "approved",
    code: "",
    address: receiver,
  },
  {
    ...{
      kind: "signed",
      seq: 5,
      at,
      transactionId,
      attempt: 1,
      network: "eip155:31337",
      account: hotWallet,
      slot: "5",
    },
    ...{ txHash: `0x${hash("d")}`, feeMax: "130000000000000" },
  },
  {
    kind: "observed",
    seq: 6,
    at,
    transactionId,
    stage: "final",
    outcome: "paid",
    txHash: `0x${hash("d")}`,
  },
  { kind: "adopted", seq: 7, at, network: "eip155:31337", account: hotWallet, slot: "5" },
  { kind: "alarm", seq: 8, at, code: "CLOCK_SKEW", locked: false },
];

/** How a statement goes in the epoch of a recovered ledger. */
export const opened = [
  {
    kind: "recovered",
    seq: 9,
    at,
    order: hash("9"),
    held: { seq: 8, hash: hash("e") },
    sequence: 0,
    jobHash: zeroHash,
  },
  {
    ...{
      kind: "asked",
      seq: 10,
      at,
      transactionId,
      sequence: 0,
      jobHash: jobHashOf(JSON.stringify(job)),
    },
    ...{ job: JSON.stringify(job), signature: signJob(JSON.stringify(job), gatewayKey) },
  },
];

/** Between which slots an agent says that something is open. */
export const open = [{ network: "eip155:31337", account: hotWallet, first: "5", last: "9" }];

const recovery = {
  ...{
    agent,
    wallet,
    ledgerEpoch: 2,
    answers: hash("2"),
    order: hash("9"),
    part: 1,
    parts: 1,
    held: head,
  },
  jobs: { sequence: 1, hash: jobHashOf(JSON.stringify(job)) },
  accounts: [{ network: "eip155:31337", account: hotWallet, next: "6" }],
  spent: [{ currency: "usdt", units: "1500000", feesUnits: "130000000000000" }],
  withdrawals: [
    {
      job: JSON.stringify(job),
      signature: signJob(JSON.stringify(job), gatewayKey),
      address: receiver,
      account: hotWallet,
      slot: "5",
      attempts: [{ txHash: `0x${hash("d")}`, feeMax: "130000000000000" }],
    },
  ],
  ended: [],
  outgoing: [
    {
      ...{
        network: "eip155:31337",
        account: hotWallet,
        slot: "4",
        txHash: `0x${hash("c")}`,
        block: 12,
        receiver,
      },
      ...{ contract: "", units: "1500000" },
    },
  ],
  at,
};

const texts = [JSON.stringify(job), JSON.stringify(second)];

const coins = [
  {
    network: "bip122:0f9188f13cb7b2c71f2a335e3a4fc328",
    account: "bcrt1qaccount",
    id: `${hash("e")}:0`,
    units: "5000",
  },
];

/** By the kind of their envelope; `job` stands inside `jobs` as text. */
export const honest: Readonly<Record<string, object>> = {
  challenge: { nonce: hash("1"), at },
  hello: {
    agent,
    ledgerEpoch: 1,
    answers: hash("1"),
    nonce: hash("2"),
    software: "autowithdraw 0.1.0",
    kinds: 11,
    open,
    at,
  },
  welcome: {
    agent,
    wallet,
    ledgerEpoch: 1,
    challenge: hash("1"),
    answers: hash("2"),
    gatewayHead: head,
    jobs: { sequence: 1, hash: jobHashOf(JSON.stringify(job)) },
    at,
  },
  jobs: {
    agent,
    wallet,
    ledgerEpoch: 1,
    gatewayHead: null,
    at,
    jobs: texts,
    signatures: texts.map((text) => signJob(text, gatewayKey)),
  },
  ack: { agent, ledgerEpoch: 1, head, at },
  question: {
    agent,
    ledgerEpoch: 1,
    coins,
    accounts: [{ network: "eip155:31337", account: hotWallet }],
    orders: [transactionId],
    at,
  },
  sightings: {
    ...{ agent, ledgerEpoch: 1, answers: hash("2"), coins, at },
    next: [{ network: "eip155:31337", account: hotWallet, slot: "4", isUnused: false }],
    orders: [transactionId],
  },
  statement: {
    agent,
    ledgerEpoch: 1,
    handshake: hash("1"),
    after: 2,
    previous: hash("d"),
    head: { seq: 8, hash: hash("e") },
    at,
    entries,
  },
  heartbeat: { agent, head: null, at },
  recovery,
  job,
};
