/**
 * The hot loop that the signer's CPU is compared with: the acts that one payout cannot do without,
 * each with the product's own primitive or with Node's, one after the other in one thread. No
 * socket, no request context, no state: the difference to the signer is the cost of all that.
 */
import { createHash, generateKeyPairSync, randomBytes, sign, verify } from "node:crypto";
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { LedgerSeal, sealContextOfRecord } from "../../agent/ledger/seal.ts";
import { invariant } from "../../base/fault.ts";
import { fastCurve } from "../../chains/curve/fast-curve.ts";
import { keccak256 } from "../../chains/curve/keccak.ts";
import { encodeRlp, integerBytes } from "../../chains/evm/rlp.ts";
import { buildTransfer, describeTransfer } from "../../chains/evm/transaction.ts";
import { parseAmount } from "../../protocol/amount.ts";
import { openEnvelope, publicKeyHex } from "../../protocol/envelope.ts";
import { agentIdOf, zeroHash } from "../../protocol/identity.ts";
import { cpuUsOfEach } from "./cpu.ts";
import { rounded } from "./figures.ts";
import { JobMaker, merchant } from "./jobs.ts";

/** Payouts a frame, a write and a statement as the same run had them. */
export interface ActsAsked {
  readonly payoutsPerFrame: number;
  readonly payoutsPerWrite: number;
  readonly payoutsPerStatement: number;
  readonly times: number; // that each act is repeated
  readonly file: string; // on the disk that the agent writes to
}

/** Microseconds of CPU a payout. */
export interface ActsFigures {
  readonly acts: Readonly<Record<string, number>>;
  readonly sumUs: number;
}

interface Act {
  readonly does: () => unknown;
  readonly payouts: number; // that share one
}

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The contents of one payout, of the sizes that the agent has. */
function payoutOf({ payoutsPerFrame, payoutsPerStatement }: ActsAsked) {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const key = publicKeyHex(publicKey);
  const id = agentIdOf({ merchant, wallet: "aa".repeat(16), signerKey: key, linkKey: key });
  const maker = new JobMaker("eip155:31337", privateKey);
  const jobs = maker.make(
    { id, wallet: "aa".repeat(16) },
    Math.max(1, Math.round(payoutsPerFrame)),
  );
  const frame = maker.frame({ id, wallet: "aa".repeat(16) }, null, jobs);
  const [{ text, signature, transactionId }] = jobs as [(typeof jobs)[0]];
  const transfer = {
    ...{
      chainId: 31_337n,
      nonce: 77n,
      maxPriorityFeePerGas: 1_000_000_000n,
      maxFeePerGas: 3_000_000_000n,
      gasLimit: 21_000n,
    },
    ...{
      contract: "",
      destination: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
      amountUnits: 1_000_000_000_000n,
    },
  };
  const unsigned = buildTransfer(transfer);
  const unsignedHex = Buffer.from(unsigned).toString("hex");
  const [account, hash] = [transfer.destination, zeroHash];
  const money = {
    network: "eip155:31337",
    contract: "",
    address: account,
    amountUnits: "1000000000000",
  };
  const fees = {
    txParams: { gasLimit: "21000", maxFeePerGas: "3000000000", maxPriorityFeePerGas: "1000000000" },
    feeMax: "63000000000000",
  };
  const raw = `0x${"02f8".repeat(29)}`;
  const of = { transactionId, attempt: 1 };
  const records = [
    { kind: "REQUESTED", transactionId, sequence: 77, jobHash: hash, job: text, signature },
    { kind: "APPROVED", transactionId, by: "policy", approver: "", chain: "local", ...money },
    {
      kind: "INTENT",
      ...of,
      account,
      slot: "77",
      ...money,
      ...fees,
      digest: hash,
      unsigned: unsignedHex,
    },
    { kind: "SIGNED", ...of, digest: hash, txHash: `0x${hash}`, raw },
    { kind: "RELEASED", acked: { seq: 77, hash }, released: [of] },
    {
      kind: "OBSERVED",
      transactionId,
      txHash: `0x${hash}`,
      block: 77,
      stage: "included",
      outcome: "",
    },
    {
      kind: "OBSERVED",
      transactionId,
      txHash: `0x${hash}`,
      block: 77,
      stage: "final",
      outcome: "paid",
    },
  ];
  const entry = {
    kind: "signed",
    ...of,
    network: money.network,
    account,
    slot: "77",
    txHash: `0x${hash}`,
    feeMax: fees.feeMax,
  };
  const entries = Array.from({ length: Math.max(1, Math.round(payoutsPerStatement)) }, () => entry);
  const lines = [
    JSON.stringify({ id: 77, verb: "sign", transactionId, chain: "local", slot: "77", ...fees }),
    JSON.stringify({
      id: 78,
      verb: "observe",
      transactionId,
      txHash: `0x${hash}`,
      block: 77,
      stage: "included",
    }),
    JSON.stringify({
      id: 79,
      verb: "observe",
      transactionId,
      txHash: `0x${hash}`,
      block: 77,
      stage: "final",
      outcome: "paid",
    }),
  ];
  return {
    privateKey,
    publicKey,
    frame,
    text,
    transfer,
    unsigned,
    records,
    entries,
    lines,
    raw: Buffer.from(raw.slice(2), "hex"),
  };
}

/** Each act and the payouts that share it. */
function actsOf(asked: ActsAsked, file: number): Readonly<Record<string, Act>> {
  const { payoutsPerFrame, payoutsPerWrite, payoutsPerStatement } = asked;
  const payout = payoutOf(asked);
  const curve = fastCurve;
  invariant(curve !== null, "the bench runs with WebAssembly");
  const key = randomBytes(32);
  const digest = keccak256(payout.unsigned);
  const signature = curve.sign(digest, key);
  const pair = signature.subarray(0, 64);
  const seal = new LedgerSeal(randomBytes(32));
  const covered = payout.records.map((record) => JSON.stringify(record));
  const written = Buffer.alloc(Math.ceil(payoutsPerWrite * covered.join("").length), 0x20);
  const opened = openEnvelope(payout.frame, {
    kind: "jobs",
    publicKey: payout.publicKey,
    bytesMax: 1_000_000,
  }).payload;
  const statement = Buffer.from(JSON.stringify(payout.entries));
  const statementSignature = sign(null, statement, payout.privateKey);
  const fields = [1n, 2n, 3n, 4n, 5n, 6n, 7n].map(integerBytes);
  let spent = 0n;
  const one = (does: () => unknown): Act => ({ does, payouts: 1 });
  return {
    // The gateway's word: nothing of a frame is read before its signature is right.
    verifyFrame: {
      does: () =>
        openEnvelope(payout.frame, {
          kind: "jobs",
          publicKey: payout.publicKey,
          bytesMax: 1_000_000,
        }),
      payouts: payoutsPerFrame,
    },
    parseFrame: {
      does: () => JSON.parse(Buffer.from(opened).toString("utf8")),
      payouts: payoutsPerFrame,
    },
    parseJob: one(() => JSON.parse(payout.text)),
    // Each job names the hash of the one before it.
    hashJob: one(() => hashOf(`autowithdraw/1 job\n${payout.text}`)),
    // Limits and sums, in base units.
    policy: one(() => {
      const amount = parseAmount("0.000001", 18);
      if (amount.ok && amount.units <= 10n ** 18n && spent + amount.units < 10n ** 40n)
        spent += amount.units;
    }),
    // The bytes are made, and read back as what was approved.
    buildAndRead: one(() => describeTransfer(buildTransfer(payout.transfer))),
    keccakUnsigned: one(() => keccak256(payout.unsigned)),
    sign: one(() => curve.sign(digest, key)),
    // The check of the own signature with its parity: the sender comes out of the signature.
    recover: one(() => curve.recover(digest, pair, signature[64] ?? 0)),
    attach: one(() =>
      encodeRlp(
        [...fields, payout.raw.subarray(0, 20), [], pair.subarray(0, 32), pair.subarray(32)],
        1,
      ),
    ),
    keccakRaw: one(() => keccak256(payout.raw)),
    // Seven records, each with the hash that links the next one to it.
    recordsJson: one(() => payout.records.map((record) => JSON.stringify(record))),
    recordsHash: one(() => covered.map(hashOf)),
    // Signed bytes are in no file in the clear.
    box: one(() => seal.box(sealContextOfRecord(77), payout.raw)),
    // The MAC of a write's last line would cover each line before it; the product makes one a line.
    mac: { does: () => seal.macOf(zeroHash), payouts: payoutsPerWrite },
    writeAndSync: {
      does: () => {
        writeSync(file, written);
        fdatasyncSync(file);
      },
      payouts: payoutsPerWrite,
    },
    // The signed facts, for the gateway.
    statement: {
      does: () => sign(null, Buffer.from(JSON.stringify(payout.entries)), payout.privateKey),
      payouts: payoutsPerStatement,
    },
    // The gateway's acknowledgement, before which no byte leaves.
    verifyAck: {
      does: () => verify(null, statement, payout.publicKey, statementSignature),
      payouts: payoutsPerStatement,
    },
    // The courier's lines: sign, included, final; and the answers.
    lines: one(() =>
      payout.lines.map((line) =>
        JSON.stringify({ id: (JSON.parse(line) as { id: number }).id, ok: true }),
      ),
    ),
  };
}

/** Takes some seconds of this process. */
export function measureActs(asked: ActsAsked): ActsFigures {
  const file = openSync(asked.file, "a", 0o600);
  try {
    const acts = Object.entries(actsOf(asked, file)).map(([name, { does, payouts }]) => {
      const times = name === "writeAndSync" ? Math.ceil(asked.times / 20) : asked.times;
      return [name, cpuUsOfEach(times, does) / Math.max(1, payouts)] as const;
    });
    return {
      acts: Object.fromEntries(acts.map(([name, us]) => [name, rounded(us, 2)])),
      sumUs: rounded(
        acts.reduce((sum, [, us]) => sum + us, 0),
        1,
      ),
    };
  } finally {
    closeSync(file);
  }
}
