/**
 * A small ledger on a disk in memory: the records of a withdrawal, a write that is durable when it
 * returns, and the code of a failure.
 */
import { createHash } from "node:crypto";
import { expect } from "vitest";
import { createLedger, type Ledger, openLedger } from "../../agent/ledger/ledger.ts";
import type { LedgerRecord, RecordBody } from "../../agent/ledger/records.ts";
import { AgentError } from "../../base/fault.ts";
import { MemoryDisk } from "../../lab/kit/ledger-disk.ts";
import { testSeal } from "../../lab/kit/ledger-seal.ts";

export const hex = (text: string, bytes: number): string =>
  createHash("sha512")
    .update(text)
    .digest("hex")
    .slice(0, bytes * 2);
export const id = (n: number): string => hex(`id ${n}`, 16);

export const paired: RecordBody & { kind: "PAIRED" } = {
  kind: "PAIRED",
  agent: hex("agent", 8),
  merchant: "m_1",
  wallet: hex("wallet", 16),
  ledgerEpoch: 1,
  gatewayKey: hex("gateway", 32),
};

/** Nine records of one withdrawal, of every kind that carries text, lists and nested objects. */
export function bodies(n: number): readonly RecordBody[] {
  const transactionId = id(n);
  const money = {
    contract: "",
    address: `0x${hex(`to ${n}`, 20)}`,
    amountUnits: String(10n ** 18n + BigInt(n)),
  };
  const digest = hex(`digest ${n}`, 32);
  return [
    {
      kind: "REQUESTED",
      transactionId,
      sequence: n,
      jobHash: hex(`job ${n}`, 32),
      job: `{"orderId":"o-${n}","note":"J *@ \\" ü €"}`,
      signature: hex(`signature ${n}`, 64),
    },
    { kind: "HELD", transactionId, code: "POLICY_MANUAL" },
    {
      kind: "APPROVED",
      transactionId,
      by: "operator",
      approver: "ann",
      chain: "local",
      network: "eip155:1",
      ...money,
    },
    {
      kind: "INTENT",
      transactionId,
      attempt: 1,
      network: "eip155:1",
      account: `0x${hex("account", 20)}`,
      slot: String(n),
      ...money,
      txParams: {
        gasLimit: "21000",
        maxFeePerGas: "2000000000",
        maxPriorityFeePerGas: "1000000000",
      },
      feeMax: "42000000000000",
      digest,
      unsigned: hex(`unsigned ${n}`, 48),
    },
    {
      kind: "SIGNED",
      transactionId,
      attempt: 1,
      digest,
      txHash: `0x${hex(`tx ${n}`, 32)}`,
      raw: hex(`raw ${n}`, 64),
    },
    {
      kind: "RELEASED",
      acked: { seq: 3, hash: hex("acked", 32) },
      released: [{ transactionId, attempt: 1 }],
    },
    {
      kind: "OBSERVED",
      transactionId,
      stage: "final",
      outcome: "paid",
      txHash: `0x${hex(`tx ${n}`, 32)}`,
      block: 7,
    },
    { kind: "REPORTED", acked: { seq: 3, hash: hex("acked", 32) } },
    { kind: "ALARM", code: "NODE_DISAGREE", detail: "two nodes, two answers" },
  ];
}

export function fresh(options: { segmentBytesMax?: number; roomBytesMin?: number } = {}): {
  disk: MemoryDisk;
  ledger: Ledger;
  time: { now: number };
} {
  const disk = new MemoryDisk();
  const time = { now: 1000 };
  createLedger(disk, paired, () => time.now, testSeal);
  return { disk, time, ledger: reopen(disk, time, options).ledger };
}

export function reopen(
  disk: MemoryDisk,
  time = { now: 1000 },
  options: { segmentBytesMax?: number; roomBytesMin?: number } = {},
) {
  return openLedger({ disk, seal: testSeal, clock: () => time.now, ...options });
}

export function write(
  disk: MemoryDisk,
  ledger: Ledger,
  records: readonly RecordBody[],
): readonly LedgerRecord[] {
  const written = ledger.append(records);
  let result: AgentError | null | undefined;
  ledger.flush((error) => {
    result = error;
  });
  while (result === undefined) disk.sync();
  expect(result).toBeNull();
  return written;
}

/** The code of the failure; "" without one. */
export function codeOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof AgentError) return error.code;
    throw error;
  }
  return "";
}
