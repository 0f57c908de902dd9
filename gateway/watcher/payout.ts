/**
 * What the chain says about a withdrawal: pure functions from final, agreed evidence to one verdict. Completed only for exactly
 * this payment; Failed only when it has become impossible for ever; everything else stays Pending, at worst for a person.
 * Sources: docs/architecture.md sections 2 (truth) and 8.
 */
import type { BlockTransaction, Receipt } from "../../chains/evm/answers.ts";
import { readTransferLog, transferTopic } from "../../chains/evm/erc20.ts";
import type { Code } from "../../protocol/codes.ts";

/** What was to be paid, and the token it is bound to. */
export interface Payout {
  readonly account: string;
  readonly nonce: bigint;
  readonly contract: string; // "" native
  readonly receiver: string;
  readonly amountUnits: bigint;
}

/** A transaction and its receipt, both at or below the final block, as enough nodes gave them. */
export interface FinalTransaction {
  readonly receipt: Receipt;
  readonly transaction: BlockTransaction;
}

/** One signed version: in a block by one node's word, final by agreement. */
export interface VersionEvidence {
  readonly txHash: string;
  readonly includedIn: number | null; // block number
  readonly final: FinalTransaction | null;
}

export interface Evidence {
  readonly versions: readonly VersionEvidence[];
  readonly finalCount: bigint | null; // the account's counter at the final block; null when not agreed
}

export type Verdict =
  | { readonly kind: "completed"; readonly final: FinalTransaction }
  | { readonly kind: "failed"; readonly code: "chain_reverted" | "chain_token_consumed"; readonly final: FinalTransaction }
  | { readonly kind: "stuck"; readonly code: Code; readonly detail: string }
  | { readonly kind: "confirming"; readonly txHash: string; readonly block: number }
  | { readonly kind: "waiting" };

/** Judges a withdrawal by all its versions. */
export function judgePayout(payout: Payout, evidence: Evidence): Verdict {
  for (const { txHash, final } of evidence.versions) {
    if (final === null) continue;
    if (final.transaction.from !== payout.account || final.transaction.nonce !== payout.nonce) {
      return differs(`${txHash} is not a transaction of ${payout.account} with nonce ${payout.nonce}`);
    }
    if (final.receipt.status === 0) return { kind: "failed", code: "chain_reverted", final };
    if (paysExactly(payout, final)) return { kind: "completed", final };
    return differs(`${txHash} is final and is not exactly the payment that was asked for`);
  }
  const included = evidence.versions.find((version) => version.includedIn !== null);
  if (included !== undefined) return { kind: "confirming", txHash: included.txHash, block: included.includedIn as number };
  if (evidence.finalCount !== null && evidence.finalCount > payout.nonce) {
    const detail = `nonce ${payout.nonce} of ${payout.account} is used at the final block by no known version`;
    return { kind: "stuck", code: "WATCHER_TOKEN_CONSUMED", detail };
  }
  return { kind: "waiting" };
}

/**
 * Whether a successful consumer's own words cannot say whom it paid, so that the code at its `to` decides: a plain transfer of coins
 * runs whatever code is there then, and that may pass them on.
 */
export function asksForCode(payout: Payout, { transaction, receipt }: FinalTransaction): boolean {
  const { to, input } = transaction;
  return payout.contract === "" && receipt.status === 1 && input === "0x" && to !== null && to !== payout.receiver;
}

/**
 * Judges a withdrawal by a final transaction of its account and nonce that is none of its known versions. `code` is what stood at
 * its `to` when it ran, "0x" for none, null when it was not asked for or the nodes cannot say.
 */
export function judgeConsumer(payout: Payout, final: FinalTransaction, code: string | null): Verdict {
  const { transaction, receipt } = final;
  if (receipt.status === 0) return { kind: "failed", code: "chain_token_consumed", final };
  if (paysExactly(payout, final)) return { kind: "completed", final };
  const mayHavePaid =
    payout.contract === ""
      ? !asksForCode(payout, final) || code !== "0x"
      : transfersOf(payout.contract, receipt).some((transfer) => transfer === null || transfer.to === payout.receiver);
  if (!mayHavePaid) return { kind: "failed", code: "chain_token_consumed", final };
  const detail = `${transaction.hash} used nonce ${payout.nonce} of ${payout.account} and may have paid something to the receiver`;
  return { kind: "stuck", code: "WATCHER_TOKEN_CONSUMED", detail };
}

/**
 * Native: a successful call of the receiver with exactly this value. ERC-20: one Transfer of the contract in the whole
 * transaction, of exactly this amount; a token that takes a fee or moves more than that is not what was asked for.
 */
function paysExactly(payout: Payout, { receipt, transaction }: FinalTransaction): boolean {
  if (receipt.status !== 1) return false;
  if (payout.contract === "") return transaction.to === payout.receiver && transaction.valueUnits === payout.amountUnits;
  const [transfer, ...more] = transfersOf(payout.contract, receipt);
  if (transfer === undefined || transfer === null || more.length > 0) return false;
  return transfer.from === payout.account && transfer.to === payout.receiver && transfer.amountUnits === payout.amountUnits;
}

/** Null stands for a Transfer in a form this contract should not have. */
function transfersOf(contract: string, receipt: Receipt): readonly ReturnType<typeof readTransferLog>[] {
  return receipt.logs.filter((log) => log.address === contract && log.topics[0] === transferTopic).map(readTransferLog);
}

function differs(detail: string): Verdict {
  return { kind: "stuck", code: "WATCHER_CONTENT_DIFFERS", detail };
}
