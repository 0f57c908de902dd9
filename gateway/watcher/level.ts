/**
 * Says of which hot wallets the chain was read far enough in this run, so that their jobs may get
 * places: every block up to a head that was asked for after the start, the ones that are not final
 * included. A node may have bytes beside its blocks: where nodes show these, the wallet's are read;
 * where they do not, and only expiry excludes a second payment, blocks are read for as long as the
 * chain needs to take such bytes. A payment leaves the mempool for a block at any moment, so the
 * blocks are read once more after the mempool, up to a head that was asked for after it. Bytes that
 * no node shows stay unknown. Source:
 * docs/threat-model.md, section 4.
 */
import { AgentError } from "../../base/fault.ts";
import { good, type Result } from "../../base/result.ts";
import { expiryExclusionOf } from "../../chains/families.ts";
import { inWaves } from "../../chains/map-limit.ts";
import { agentsVersion, listAccountsNow } from "../store/agents.ts";
import { gapOver } from "../store/gaps.ts";
import { isLevel, keepLevel, keepLevelTrouble, levelTrouble } from "../store/levels.ts";
import { isUnread } from "../store/unread-transactions.ts";
import { timeOfHead } from "./block-times.ts";
import type { Tip, WatchedChain } from "./chain.ts";
import { blocksOf } from "./gaps.ts";
import { keepSeenOutgoing } from "./outgoing-transactions.ts";

const questionsAtOnce = 16;

/** State that is not in the tables, because a run begins with none. */
export interface LevelMemory {
  firstMs: number | null; // own time of the first head that was asked for; null before it, or if it does not count
  allAt: number | null; // the list of agents whose wallets all are level in this run; null for none
  /** Accounts whose mempool was read before the head of the next pass is asked for. */
  readonly beside: Set<string>;
}

export function newLevelMemory(): LevelMemory {
  return { firstMs: null, allAt: null, beside: new Set() };
}

/**
 * Makes hot wallets level whose chain was read up to this tip. `isReached`: all blocks up to its
 * head were read and kept in this pass, but those of the accounts in `unseen`.
 * @returns true if a wallet only waits for another pass
 * @throws AgentError NODE_CLOSED; then nothing changes
 */
export async function keepLevels(
  chain: WatchedChain,
  tip: Tip,
  memory: LevelMemory,
  isReached: boolean,
  unseen: ReadonlySet<string> = new Set(),
): Promise<boolean> {
  const { store, network, run, reader } = chain;
  const version = agentsVersion(store.database);
  if (memory.allAt === version) return false;
  const open = listAccountsNow(store.database, network).filter(
    (account) => !isLevel(store.database, { network, account }, run),
  );
  memory.allAt = open.length === 0 ? version : null;
  if (open.length === 0) return false;
  const past = await isPastUnseen(chain, tip, memory);
  if (past.ok && !(isReached && past.value)) return false;
  const whyNot = async (account: string): Promise<string> =>
    unseen.has(account)
      ? "its newest transactions cannot be read, or are more than can be kept"
      : troubleOf(chain, account);
  const troubles = past.ok
    ? await inWaves(open, questionsAtOnce, whyNot)
    : open.map(
        () =>
          `the time of block ${tip.head.number} cannot be read: ${past.fault.code}: ${past.fault.message}`,
      );
  store.write((database) => {
    for (const [at, account] of open.entries()) {
      const trouble = troubles[at] ?? "";
      const wallet = { network, account };
      const isSeen = reader.unconfirmed === undefined || memory.beside.has(account);
      if (trouble === "" && isSeen) keepLevel(database, wallet, run);
      else if (levelTrouble(database, wallet) !== trouble)
        keepLevelTrouble(database, wallet, trouble);
    }
  });
  const read = open.filter((account, at) => troubles[at] === "" && !memory.beside.has(account));
  for (const account of read) memory.beside.add(account);
  return reader.unconfirmed !== undefined && read.length > 0;
}

/**
 * True if blocks were made for so long since the first head of this run that they hold what nodes
 * do not show.
 */
async function isPastUnseen(
  chain: WatchedChain,
  { head }: Tip,
  memory: LevelMemory,
): Promise<Result<boolean>> {
  const exclusion = expiryExclusionOf(chain.network);
  if (exclusion === null) return good(true);
  const time = await timeOfHead(chain, head.number);
  if (!time.ok) return time;
  memory.firstMs ??= time.value;
  return good(time.value >= memory.firstMs + exclusion.unseenMs);
}

/**
 * Reads what nodes show of a wallet beside blocks. Returns why that cannot be; "" if it was read.
 */
async function troubleOf(chain: WatchedChain, account: string): Promise<string> {
  const { reader } = chain;
  // It may be the payment that both sides have forgotten.
  if (isUnread(chain.store.database, chain.network, account))
    return "a transaction of the wallet is in a block and cannot be read";
  const gap = gapOver(chain.store.database, chain.network, [account]);
  if (gap !== undefined) return `${blocksOf(gap)} could not be read`;
  if (reader.unconfirmed === undefined) return "";
  try {
    const waiting = await reader.unconfirmed(account);
    const crowded = keepSeenOutgoing(
      chain,
      waiting.map((one) => ({ ...one, block: null })),
    );
    return crowded.has(account)
      ? "the mempool has more of its transactions that nothing explains than can be kept"
      : "";
  } catch (error) {
    if (!(error instanceof AgentError) || error.code === "NODE_CLOSED") throw error;
    return `the mempool of ${account} cannot be read: ${error.code}: ${error.message}`;
  }
}
