/**
 * Jobs as the bench's gateway signs them. Each destination carries the job's number, so that a raw
 * transaction names the job it pays.
 */
import type { KeyObject } from "node:crypto";
import { sealEnvelope, signJob } from "../../protocol/envelope.ts";
import { deriveOrderTransactionId, jobHashOf, zeroHash } from "../../protocol/identity.ts";
import type { AgentLedgerHead } from "../../protocol/messages.ts";

export const merchant = "m_bench";

export interface MadeJob {
  readonly number: number;
  readonly transactionId: string;
  readonly text: string;
  readonly signature: string;
}

interface Receiver {
  readonly id: string;
  readonly wallet: string;
}

const mark = "5afe".repeat(8);
const receiverOf = (number: number): string => `0x${mark}${number.toString(16).padStart(8, "0")}`;

/** The number of the job that a raw transaction pays, -1 for none. */
export function numberIn(raw: string): number {
  const at = raw.indexOf(mark);
  return at < 0 ? -1 : Number.parseInt(raw.slice(at + mark.length, at + mark.length + 8), 16);
}

export class JobMaker {
  readonly #network: string;
  readonly #gatewayKey: KeyObject;
  #sequence = 0;
  #previous = zeroHash;

  constructor(network: string, gatewayKey: KeyObject) {
    this.#network = network;
    this.#gatewayKey = gatewayKey;
  }

  /** The number and hash of the newest job. */
  get newest(): { readonly sequence: number; readonly hash: string } {
    return { sequence: this.#sequence, hash: this.#previous };
  }

  make({ id, wallet }: Receiver, count: number): MadeJob[] {
    return Array.from({ length: count }, () => {
      this.#sequence += 1;
      const number = this.#sequence;
      const orderId = `bench-${number}`;
      const transactionId = deriveOrderTransactionId({ merchant, operation: "withdraw", orderId });
      const now = Date.now();
      const text = JSON.stringify({
        ...{
          agent: id,
          wallet,
          network: this.#network,
          ledgerEpoch: 1,
          sequence: number,
          previous: this.#previous,
        },
        ...{ issuedAt: now, expiresAt: now + 3_600_000, mode: "auto", transactionId, orderId },
        ...{ currency: "eth", amount: "0.000001", address: receiverOf(number), tag: "" },
      });
      this.#previous = jobHashOf(text);
      return { number, transactionId, text, signature: signJob(text, this.#gatewayKey) };
    });
  }

  frame(
    { id, wallet }: Receiver,
    gatewayHead: AgentLedgerHead | null,
    made: readonly MadeJob[],
  ): Uint8Array {
    const [jobs, signatures] = [
      made.map(({ text }) => text),
      made.map(({ signature }) => signature),
    ];
    return sealEnvelope(
      "jobs",
      { agent: id, wallet, ledgerEpoch: 1, gatewayHead, at: Date.now(), jobs, signatures },
      this.#gatewayKey,
    );
  }
}
