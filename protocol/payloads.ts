/**
 * Parses payloads of verified envelopes, from bytes or text, into the types of messages.ts. The
 * parsers are strict: every field is present, known and bounded. If a type changes there, this file
 * does not compile. docs/protocol.md sections 4 to 6.
 */

import { parseJson } from "../base/json.ts";
import {
  boolean,
  list,
  nullable,
  object,
  oneOf,
  type Reader,
  shapeFault,
  string,
} from "../base/shape.ts";
import { gatewayFrameBytesMax } from "./envelope.ts";
import * as fields from "./fields.ts";
import { isInternalMode } from "./job-mode.ts";
import type {
  Ack,
  Challenge,
  Entry,
  ForeignTransaction,
  Heartbeat,
  Hello,
  Job,
  Jobs,
  OpenSlots,
  Statement,
  Welcome,
} from "./messages.ts";

/** Most jobs in one frame; the frame's own limit is usually lower. */
export const jobsPerFrameMax = 256;

/**
 * Most accounts for which a hello names open slots. The frame of a hello is small, because the
 * gateway reads it before it has authenticated the agent.
 */
export const openAccountsMax = 16;

/** Most bytes of one job's text. */
export const jobTextBytesMax = 4096;

/** Most entries in one statement. */
export const entriesPerStatementMax = 512;

/** Most withdrawals that one acknowledgement names as ended. */
export const endedPerAckMax = 256;

/** Most signed transactions that one acknowledgement names as void. */
export const voidPerAckMax = 256;

/** Most withdrawals that one acknowledgement names as unreachable; the earliest come first. */
export const unreachablePerAckMax = 256;

/** Most withdrawals that one acknowledgement names as recalled; the earliest recalls come first. */
export const recalledPerAckMax = 256;

/** Most transactions that one acknowledgement names as foreign; the newest come first. */
export const foreignPerAckMax = 16;

/**
 * Most attempts of one withdrawal, the first included. The signer makes no more, and the gateway
 * takes no more.
 */
export const attemptsMax = 20;

const jobLimits = { bytesMax: jobTextBytesMax, depthMax: 1 };
const statementLimits = { bytesMax: gatewayFrameBytesMax };

const challenge: Reader<Challenge> = object(
  { nonce: fields.nonce, at: fields.time },
  { kinds: fields.kind },
);

const openSlots: Reader<OpenSlots> = object({
  network: fields.network,
  account: fields.account,
  first: fields.nonceField,
  last: fields.nonceField,
});

const hello: Reader<Hello> = object(
  {
    agent: fields.agent,
    ledgerEpoch: fields.ledgerEpoch,
    answers: fields.nonce,
    nonce: fields.nonce,
    software: fields.software,
    open: list(openSlots, openAccountsMax),
    at: fields.time,
  },
  { kinds: fields.kind },
);

const welcome: Reader<Welcome> = object({
  agent: fields.agent,
  wallet: fields.wallet,
  ledgerEpoch: fields.ledgerEpoch,
  challenge: fields.nonce,
  answers: fields.nonce,
  gatewayHead: nullable(fields.head),
  jobs: object({ sequence: fields.count, hash: fields.hash }),
  at: fields.time,
});

const jobs: Reader<Jobs> = object({
  agent: fields.agent,
  wallet: fields.wallet,
  ledgerEpoch: fields.ledgerEpoch,
  gatewayHead: nullable(fields.head),
  at: fields.time,
  jobs: list(string({ min: 2, max: jobTextBytesMax }), jobsPerFrameMax),
  signatures: list(fields.signature, jobsPerFrameMax),
});

const job: Reader<Job> = object(
  {
    agent: fields.agent,
    wallet: fields.wallet,
    network: fields.network,
    ledgerEpoch: fields.ledgerEpoch,
    sequence: fields.ordinal,
    previous: fields.hash,
    issuedAt: fields.time,
    expiresAt: fields.time,
    mode: oneOf("auto", "manual", "sweep", "topup"),
    transactionId: fields.transactionId,
    orderId: fields.orderId,
    currency: fields.currency,
    amount: fields.amount,
    address: fields.destination,
    tag: fields.tag,
  },
  {
    renews: fields.transactionId,
    refundOf: fields.transactionId,
    depositIndex: fields.depositIndex,
    depositAddress: fields.account,
    depositNext: fields.nonceField,
  },
);

const foreignTransaction: Reader<ForeignTransaction> = object({
  network: fields.network,
  account: fields.account,
  txHash: fields.txHash,
});

const ack: Reader<Ack> = object(
  {
    agent: fields.agent,
    ledgerEpoch: fields.ledgerEpoch,
    head: fields.head,
    ended: list(fields.transactionId, endedPerAckMax),
    at: fields.time,
  },
  {
    void: list(fields.txHash, voidPerAckMax),
    unreachable: list(fields.transactionId, unreachablePerAckMax),
    endable: list(fields.transactionId, unreachablePerAckMax),
    recalled: list(fields.transactionId, recalledPerAckMax),
    foreign: list(foreignTransaction, foreignPerAckMax),
    ceiling: fields.ceiling,
  },
);

const heartbeat: Reader<Heartbeat> = object({
  agent: fields.agent,
  head: nullable(fields.head),
  at: fields.time,
});

const entryReaders = {
  decision: object({
    kind: oneOf("decision"),
    seq: fields.ordinal,
    at: fields.time,
    transactionId: fields.transactionId,
    decision: oneOf("approved", "held", "refused", "expired"),
    code: fields.code,
    address: fields.destination,
  }),
  signed: object(
    {
      kind: oneOf("signed"),
      seq: fields.ordinal,
      at: fields.time,
      transactionId: fields.transactionId,
      attempt: fields.ordinal,
      network: fields.network,
      account: fields.account,
      slot: fields.slot,
      txHash: fields.txHash,
      feeMax: fields.units,
    },
    { validUntilMs: fields.ordinal, pin: fields.pin, cancel: oneOf(true) },
  ),
  observed: object({
    kind: oneOf("observed"),
    seq: fields.ordinal,
    at: fields.time,
    transactionId: fields.transactionId,
    stage: oneOf("broadcast", "included", "final", "void"),
    outcome: oneOf("", "paid", "reverted", "conflicted", "cancelled", "moved"),
    txHash: fields.optionalTxHash,
  }),
  adopted: object({
    kind: oneOf("adopted"),
    seq: fields.ordinal,
    at: fields.time,
    network: fields.network,
    account: fields.account,
    slot: fields.slot,
  }),
  alarm: object({
    kind: oneOf("alarm"),
    seq: fields.ordinal,
    at: fields.time,
    code: fields.code,
    locked: boolean(),
  }),
  paused: object(
    { kind: oneOf("paused"), seq: fields.ordinal, at: fields.time, paused: boolean() },
    {
      network: fields.network,
      currency: fields.currency,
      txHashes: list(fields.txHash, foreignPerAckMax),
    },
  ),
  ceiling: object({
    kind: oneOf("ceiling"),
    seq: fields.ordinal,
    at: fields.time,
    ceiling: fields.ceiling,
  }),
  recovered: object({
    kind: oneOf("recovered"),
    seq: fields.ordinal,
    at: fields.time,
    order: fields.hash,
    held: nullable(fields.head),
    sequence: fields.count,
    jobHash: fields.hash,
  }),
  asked: object({
    kind: oneOf("asked"),
    seq: fields.ordinal,
    at: fields.time,
    transactionId: fields.transactionId,
    sequence: fields.count,
    jobHash: fields.hash,
    job: string({ max: jobTextBytesMax }),
    signature: fields.optionalSignature,
  }),
} satisfies { [K in Entry["kind"]]: Reader<Extract<Entry, { kind: K }>> };

const entryKinds = Object.keys(entryReaders) as readonly Entry["kind"][];
const entryKind = oneOf(...entryKinds);

const entry: Reader<Entry> = (value, path) => {
  if (typeof value !== "object" || value === null || !("kind" in value))
    throw shapeFault(path, "must be an object with a kind");
  return entryReaders[entryKind(value.kind, `${path}.kind`)](value, path);
};

const statement: Reader<Statement> = object(
  {
    agent: fields.agent,
    ledgerEpoch: fields.ledgerEpoch,
    handshake: fields.optionalNonce,
    after: fields.count,
    previous: fields.hash,
    head: fields.head,
    at: fields.time,
    entries: list(entry, entriesPerStatementMax),
  },
  { policy: fields.hash, recovered: fields.hash },
);

/**
 * Parses a challenge. Every parser below throws the same codes.
 * @throws AgentError JSON_* (JSON_SHAPE for JSON that is not this payload).
 */
export function parseChallenge(payload: Uint8Array | string): Challenge {
  return challenge(parseJson(payload), "challenge");
}

export function parseHello(payload: Uint8Array | string): Hello {
  const value = hello(parseJson(payload), "hello");
  const named = new Set<string>();
  for (const [index, { network, account, first, last }] of value.open.entries()) {
    if (named.has(`${network} ${account}`))
      throw shapeFault(`hello.open[${index}]`, "must name each account once");
    named.add(`${network} ${account}`);
    if (BigInt(last) < BigInt(first))
      throw shapeFault(`hello.open[${index}].last`, "must not be below the first");
  }
  return value;
}

export function parseWelcome(payload: Uint8Array | string): Welcome {
  const value = welcome(parseJson(payload), "welcome");
  if ((value.jobs.sequence === 0) !== /^0+$/.test(value.jobs.hash)) {
    throw shapeFault("welcome.jobs.hash", "must be zeros exactly before the first job");
  }
  return value;
}

/**
 * The jobs inside stay texts: the caller hashes each with `jobHashOf`, then uses `parseJob`.
 * Sequences are not checked here.
 */
export function parseJobs(payload: Uint8Array | string): Jobs {
  const value = jobs(parseJson(payload), "jobs");
  if (value.signatures.length !== value.jobs.length)
    throw shapeFault("jobs.signatures", "must be one for each job");
  return value;
}

/**
 * Parses one job's text. The amount is canonical; its precision is not known here. The address may
 * be empty only in a manual job.
 */
export function parseJob(text: Uint8Array | string): Job {
  const value = job(parseJson(text, jobLimits), "job");
  const isOwn = isInternalMode(value.mode);
  if (isOwn && (value.address !== "" || value.tag !== ""))
    throw shapeFault("job.address", "must be empty when mode is sweep or topup");
  for (const field of ["depositIndex", "depositAddress"] as const) {
    if ((value[field] !== undefined) !== isOwn)
      throw shapeFault(`job.${field}`, "must stand exactly when mode is sweep or topup");
  }
  for (const field of ["renews", "refundOf"] as const) {
    if (value[field] !== undefined && isOwn)
      throw shapeFault(`job.${field}`, "must be left out when mode is sweep or topup");
  }
  if (value.depositNext !== undefined && value.mode !== "sweep")
    throw shapeFault("job.depositNext", "must be left out unless mode is sweep");
  if (value.mode === "topup" && !/^[0-9a-f]{32}$/.test(value.orderId)) {
    throw shapeFault("job.orderId", "must be the id of a sweep when mode is topup");
  }
  if (value.address === "" && value.mode === "auto")
    throw shapeFault("job.address", "must not be empty unless mode is manual");
  if (value.expiresAt <= value.issuedAt)
    throw shapeFault("job.expiresAt", "must be later than issuedAt");
  if ((value.sequence === 1) !== /^0+$/.test(value.previous)) {
    throw shapeFault("job.previous", "must be zeros exactly for the first job");
  }
  return value;
}

export function parseAck(payload: Uint8Array | string): Ack {
  return ack(parseJson(payload), "ack");
}

export function parseHeartbeat(payload: Uint8Array | string): Heartbeat {
  return heartbeat(parseJson(payload), "heartbeat");
}

/** Entries do not fall in seq, lie after `after` and are covered by `head`. */
export function parseStatement(payload: Uint8Array | string): Statement {
  const value = statement(parseJson(payload, statementLimits), "statement");
  let last = value.after;
  for (const [index, item] of value.entries.entries()) {
    // One record may have several entries. No entry is from a record that the receiver already has.
    if (item.seq < last || item.seq <= value.after) {
      throw shapeFault(
        `statement.entries[${index}].seq`,
        "must not fall and lie after statement.after",
      );
    }
    if (item.kind === "asked" && (item.job === "") !== (item.signature === "")) {
      throw shapeFault(`statement.entries[${index}].signature`, "must stand exactly with a job");
    }
    if (item.kind === "observed" && (item.outcome === "") === (item.stage === "final")) {
      throw shapeFault(
        `statement.entries[${index}].outcome`,
        "must be set exactly when the stage is final",
      );
    }
    if (item.kind === "observed" && item.txHash === "" && item.outcome !== "conflicted") {
      throw shapeFault(
        `statement.entries[${index}].txHash`,
        "must not be empty unless the outcome is conflicted",
      );
    }
    if (
      item.kind === "paused" &&
      (item.txHashes ?? item.currency) !== undefined &&
      item.network === undefined
    ) {
      throw shapeFault(
        `statement.entries[${index}].network`,
        "must stand with txHashes and with currency",
      );
    }
    if (item.kind === "recovered" && (item.sequence === 0) !== /^0+$/.test(item.jobHash)) {
      throw shapeFault(
        `statement.entries[${index}].jobHash`,
        "must be zeros exactly before the first job",
      );
    }
    last = item.seq;
  }
  if (value.head.seq < last) throw shapeFault("statement.head.seq", "must cover every entry");
  return value;
}
