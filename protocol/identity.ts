/**
 * Names that both sides derive instead of choosing: transactions, wallets, agents, jobs. Each is a
 * SHA-256 under a domain prefix, so no hash of one thing is ever a hash of another.
 * docs/protocol.md section 1.2.
 */
import { createHash } from "node:crypto";
import { invariant } from "../base/fault.ts";

/** Value before the first hash of a chain. */
export const zeroHash = "0".repeat(64);

/** SHA-256(utf8("autowithdraw/1 <what>\n") ‖ parts), as lower-case hex. */
export function domainHash(what: string, ...parts: readonly Uint8Array[]): string {
  const hash = createHash("sha256").update(`autowithdraw/1 ${what}\n`);
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}

/**
 * The purpose of an order. Auto and manual withdrawals share one space of orders. A top-up's
 * orderId is the id of its sweep, so no sweep has two top-ups.
 */
export type Operation = "deposit" | "withdraw" | "sweep" | "topup";

/**
 * The id of a merchant's order, 16 bytes as hex: the same order has the same id after any loss of
 * data. `renews` is the id of the ended transaction that this one follows, so that each has one
 * successor at most.
 */
export function deriveOrderTransactionId(order: {
  readonly merchant: string;
  readonly operation: Operation;
  readonly orderId: string;
  readonly renews?: string | undefined; // absent or "" for the first transaction of an order
}): string {
  const { merchant, operation, orderId, renews = "" } = order;
  const parts = [merchant, operation, orderId, ...(renews === "" ? [] : [renews])];
  return domainHash("transaction", ...parts.map(sized)).slice(0, 32);
}

/**
 * The fingerprint of a wallet, 16 bytes as hex, made from the ids of all its accounts in the order
 * that a transcript demands. No id has a line end, and each id's form shows its family and purpose.
 * An EVM address stands in its checksummed form (EIP-55).
 */
export function walletFingerprintOf(accounts: readonly { readonly id: string }[]): string {
  return domainHash("wallet", Buffer.from(accounts.map(({ id }) => id).join("\n"))).slice(0, 32);
}

/** The id of an agent, 8 bytes as hex. Keys as hex. */
export function agentIdOf(agent: {
  readonly merchant: string;
  readonly wallet: string;
  readonly signerKey: string;
  readonly linkKey: string;
}): string {
  return domainHash(
    "agent",
    sized(agent.merchant),
    sized(agent.wallet),
    sized(agent.signerKey),
    sized(agent.linkKey),
  ).slice(0, 16);
}

/** The hash of a job's exact text; the next job names it as `previous`. */
export function jobHashOf(text: string): string {
  return domainHash("job", Buffer.from(text));
}

/**
 * u16be length ‖ utf8. The length keeps two different lists of texts from having the same bytes.
 */
function sized(text: string): Uint8Array {
  const bytes = Buffer.from(text);
  invariant(bytes.length <= 0xffff, "a hashed text has at most 65535 bytes");
  return Buffer.concat([Uint8Array.of(bytes.length >> 8, bytes.length & 0xff), bytes]);
}
