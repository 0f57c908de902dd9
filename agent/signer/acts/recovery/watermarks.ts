/**
 * Where a recovery lets each account go on: past every token that this ledger, the gateway or the chain knows of, so that none is given
 * twice; and what none of them knows. Touches nothing. Source: docs/protocol.md section 8.
 */
import { type Refusal, refuse } from "../../../../protocol/fault.ts";
import type { RecoveryWithdrawal } from "../../../../protocol/recovery.ts";
import type { RecoveryAccountView } from "../../../socket/verbs.ts";
import { isBegun } from "../../state/accounts.ts";
import type { Core } from "../../state/core.ts";
import type { Shown } from "../orders.ts";

/** Accounts of one RECOVERED record. */
const listedMax = 256;

interface Watermarked extends Pick<Shown, "order" | "counts"> {
  readonly core: Core;
  readonly account: string; // paying address
}

/** A token that a new withdrawal could get as well. */
export function isLoose({ token, account }: RecoveryWithdrawal, network: string, views: readonly RecoveryAccountView[]): boolean {
  if (token === "") return false;
  const view = views.find((each) => each.network === network && each.account === account);
  return view === undefined || BigInt(token) >= BigInt(view.next);
}

/** The first token that anybody gets from now on: past everything this ledger, the gateway or the chain knows of. */
export function watermarksOf({
  core,
  counts,
  order,
  account,
}: Watermarked): { readonly ok: true; readonly views: readonly RecoveryAccountView[] } | Refusal {
  const views: RecoveryAccountView[] = [];
  const told = new Map(order.accounts.filter((each) => each.account === account).map((each) => [each.network, each.next]));
  // What an account paid that ledger and gateway have both forgotten shows in the chain's count alone.
  const counted = [...counts].filter(([, count]) => count > 0n).map(([network]) => network);
  const networks = new Set([...told.keys(), ...core.accounts.networks(account), ...counted]);
  if (networks.size > listedMax) return refuse("RECOVERY_ORDER", "too many networks");
  for (const network of [...networks].sort()) {
    const ledgerNext = core.accounts.find(network, account)?.next;
    const gatewayNext = told.get(network);
    const chainCount = counts.get(network);
    let next = ledgerNext ?? 0n;
    for (const each of [gatewayNext === undefined ? 0n : BigInt(gatewayNext), chainCount ?? 0n]) if (each > next) next = each;
    if (next > BigInt(Number.MAX_SAFE_INTEGER)) return refuse("RECOVERY_ORDER", `nonce ${next} cannot be`);
    // An account that nothing was ever bound on begins as any other does.
    const known = core.accounts.find(network, account);
    if (gatewayNext === undefined && known !== undefined && !isBegun(known) && next === ledgerNext) continue;
    const text = (value: bigint | undefined): string => value?.toString() ?? "";
    views.push({
      ...{ network, account, ledgerNext: text(ledgerNext), gatewayNext: gatewayNext ?? "", chainCount: text(chainCount) },
      ...{ next: next.toString(), ...forgottenSince(core, network, account, BigInt(gatewayNext ?? 0)) },
    });
  }
  return { ok: true, views };
}

/**
 * An earlier recovery passed over what the gateway had and this ledger had forgotten. A gateway that was put back since does not tell of
 * it any more: then nobody does, but for what is open here still.
 */
function forgottenSince(
  { accounts, book }: Core,
  network: string,
  account: string,
  gatewayNext: bigint,
): Pick<RecoveryAccountView, "passed" | "passedFrom"> {
  const ranges = accounts.passedFrom(network, account, gatewayNext);
  let count = ranges.reduce((sum, [from, to]) => sum + to - from, 0n);
  if (count === 0n) return { passed: 0, passedFrom: "" };
  for (const { job, account: payer, nonce } of book.open()) {
    const isHere = nonce !== "" && job.network === network && payer === account;
    if (isHere && ranges.some(([from, to]) => BigInt(nonce) >= from && BigInt(nonce) < to)) count -= 1n;
  }
  return { passed: Number(count), passedFrom: count === 0n ? "" : (ranges[0]?.[0] ?? 0n).toString() };
}
