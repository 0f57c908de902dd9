/**
 * Gaps: final blocks, joined by agreed parent hashes, whose content could not be had. A gap of one
 * account is kept at once, so that no other account waits; a gap of all after ten minutes, when
 * each single block was asked for. While a gap is open nothing that lived in it ends, and it is
 * asked for again. One that an operator gave up holds the requests that lived in it until their
 * balances were compared. Source: docs/architecture.md section 8.
 */
import type { Code } from "../../base/codes.ts";
import type { AgentError } from "../../base/fault.ts";
import type { MissingHistory } from "../../chains/nodes.ts";
import { hasTags } from "../../chains/payees.ts";
import { isItemFault } from "../faults/blame.ts";
import { faultDomains, isRestOver, restMsAfterTries } from "../faults/domains.ts";
import type { Fault } from "../faults/fault.ts";
import type { MerchantTurns } from "../faults/turns.ts";
import { ownerOfTaggedAccount } from "../store/forgotten-addresses.ts";
import { countDepositsHeldByGap, endFinishedGapHolds, hasGivenUpGaps } from "../store/gap-holds.ts";
import { type GapRow, listGaps, markGapTold, openGap, restGap } from "../store/gaps.ts";
import type { Database } from "../store/store.ts";
import { readSummedToBlock } from "../store/stray-sums.ts";
import { raiseAlarm, type WatchedChain } from "./chain.ts";
import { faultKeyOn } from "./items.ts";

/** Gaps of which a pass asks for a part. */
const gapsPerPass = 4;
const toldAfterMs = 10 * 60_000;
const wordsMax = 300;
/** The name of all accounts among the faults. */
const everybody = "*";

/** The accounts whose list cannot be had, by account. @throws the fault if it is the chain's */
export function missingHistoryByAccount(
  missing: readonly MissingHistory[],
): ReadonlyMap<string, AgentError> {
  const chains = missing.find(({ fault }) => !isItemFault(fault));
  if (chains !== undefined) throw chains.fault;
  return new Map(missing.map(({ account, fault }) => [account, fault]));
}

/**
 * Opens gaps of these accounts in the caller's transaction; "" for all. Without `summedTo` the
 * blocks count as read for the first time.
 */
export function keepGaps(
  { network, clock }: WatchedChain,
  database: Database,
  {
    fromBlock,
    toBlock,
    summedTo: summed,
  }: Pick<GapRow, "fromBlock" | "toBlock"> & Partial<Pick<GapRow, "summedTo">>,
  missing: ReadonlyMap<string, AgentError>,
): void {
  for (const [account, { code, message }] of missing) {
    const merchant =
      account === "" ? "" : (ownerOfTaggedAccount(database, network, account)?.merchant ?? "");
    openGap(database, {
      network,
      account,
      fromBlock,
      toBlock,
      merchant,
      code,
      words: message.slice(0, wordsMax),
      since: clock(),
      summedTo: summed ?? readSummedToBlock(database, network),
    });
  }
}

/** The gaps that a pass asks for again, of merchants in turn. */
export function listDueGaps(
  { store, network, clock }: WatchedChain,
  turns: MerchantTurns,
): readonly GapRow[] {
  const isDue = ({ retryAt, givenUpAt }: GapRow): boolean =>
    givenUpAt === null && isRestOver(retryAt, faultDomains.history.restMaxMs, clock());
  const due = listGaps(store.database, network).filter(isDue);
  turns.beginPass();
  return turns.deal(due, gapsPerPass, ({ merchant }) => ({ merchant, questions: 1 }));
}

/** Lets a gap rest that could not be filled. */
export function restUnfilledGap(
  { store, clock }: WatchedChain,
  gap: GapRow,
  { code, message }: AgentError,
): void {
  const tries = gap.tries + 1;
  const retryAt = clock() + restMsAfterTries(tries, faultDomains.history.restMaxMs);
  store.write((database) =>
    restGap(database, gap, { code, words: message.slice(0, wordsMax), tries, retryAt }),
  );
}

/**
 * Tells operators of gaps that stand: of one account after a while, because many are filled at
 * once. Ends those that were given up and hold no request any more.
 */
export function tellGaps(chain: WatchedChain): void {
  const { store, network, clock, faults } = chain;
  if (hasGivenUpGaps(store.database, network))
    store.write((database) => endFinishedGapHolds(database, network));
  const gaps = listGaps(store.database, network);
  faults.keepStanding(
    "history",
    gaps.map((gap) => asFault(chain, gap)),
  );
  const untold = gaps.filter(({ account, since, toldAt, givenUpAt }) => {
    return (
      toldAt === null && givenUpAt === null && (account === "" || clock() - since >= toldAfterMs)
    );
  });
  if (untold.length === 0) return;
  store.write((database) => {
    for (const gap of untold) {
      markGapTold(database, gap, clock());
      const { account, fromBlock, words } = gap;
      const cure = "name a node that has them; nothing that lived in them ends meanwhile";
      const detail = `${formatGapBlocks(gap)}${account === "" ? "" : ` of ${account}`} could not be read: ${words}; ${cure}`;
      raiseAlarm(chain, database, {
        code: "WATCHER_GAP",
        subject: `${network} ${account || fromBlock}`,
        detail,
      });
    }
  });
}

export function formatGapBlocks({
  fromBlock,
  toBlock,
}: Pick<GapRow, "fromBlock" | "toBlock">): string {
  return fromBlock === toBlock ? `block ${toBlock}` : `blocks ${fromBlock} to ${toBlock}`;
}

function asFault({ network, store, clock }: WatchedChain, gap: GapRow): Fault {
  const { account, fromBlock, merchant, code, since: sinceMs, tries } = gap;
  const key = faultKeyOn({ network }, "history", `${account || everybody} ${fromBlock}`, merchant);
  const words =
    gap.givenUpAt === null
      ? gap.words
      : `given up: ${heldWords(network, countDepositsHeldByGap(store.database, gap))}`;
  // The row says how long it stands: no time since its last try ends it, as it ends other faults.
  const retryAtMs = Math.max(gap.retryAt, clock());
  return {
    ...key,
    code: code as Code,
    plain: code,
    words: `${formatGapBlocks(gap)}: ${words}`,
    sinceMs,
    tries,
    retryAtMs,
    count: 1,
  };
}

function heldWords(network: string, count: number): string {
  const are = count === 1 ? "1 request is held until" : `${count} requests are held until`;
  return hasTags(network)
    ? `${are} an operator credits or releases each`
    : `${are} the balance of each was compared`;
}
