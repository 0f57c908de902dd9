/**
 * The gateway's word on coins and next slots: what its own nodes show of an agent's hot wallets,
 * and of addresses with an open sweep. It is silent about all else, and about all that they do not
 * show, so it says nothing while they are away. One question of an agent is answered at a time, and
 * its accounts are counted, because each costs questions to nodes that all merchants share. Source:
 * docs/protocol.md section 6.8.
 */
import { AgentError } from "../../base/fault.ts";
import type { GatewayLog } from "../../base/log.ts";
import type { WatcherNodes } from "../../chains/nodes.ts";
import type {
  AskedAccount,
  SightedCoin,
  Sightings,
  SightingsQuestion,
} from "../../protocol/sightings.ts";
import { hotWalletAddressOn } from "../store/agent-accounts.ts";
import { readAgent } from "../store/agents.ts";
import type { Store } from "../store/store.ts";
import { hasOpenSweepOf } from "../store/sweeps.ts";

/** Accounts of an agent that are asked for at once after a quiet time; the time for one more. */
const accountsMax = 32;
const accountMs = 2_000;
/** Accounts of all agents that are asked for at the same time on one network. */
const atOnce = 8;

/** The parts of the gateway that it works with. */
export interface SightingsOptions {
  readonly store: Store;
  readonly log: GatewayLog;
  readonly clock: () => number;
  /** The nodes of a network; undefined before they are opened, and for one that is not served. */
  readonly reader: (network: string) => SightingReader | undefined;
}

export type SightingReader = Pick<WatcherNodes, "sightedCoins" | "nextSlot">;

/** The content of a frame of sightings. */
export type SightingsContent = Pick<Sightings, "coins" | "next">;

type AskedSubjects = Pick<SightingsQuestion, "coins" | "accounts">;

/** Answers a question of an agent; null for silence. Never rejects but for a bug. */
export type AnswerSightingsQuestion = (
  agentId: string,
  asked: AskedSubjects,
) => Promise<SightingsContent | null>;

export function createSightingsAnswerer(rooms: SightingsOptions): AnswerSightingsQuestion {
  const budgets = new Map<string, Budget>();
  const busy = new Map<string, number>(); // by network
  return async (agentId, asked) => {
    const budget = budgets.get(agentId) ?? {
      left: accountsMax,
      atMs: rooms.clock(),
      isBusy: false,
    };
    budgets.set(agentId, budget);
    if (budget.isBusy) return null;
    budget.isBusy = true;
    try {
      return await answerOf(rooms, agentId, asked, budget, busy);
    } finally {
      budget.isBusy = false;
    }
  };
}

interface Budget {
  left: number; // accounts
  atMs: number; // when it was last counted
  isBusy: boolean; // a question of the agent is being answered
}

async function answerOf(
  rooms: SightingsOptions,
  agentId: string,
  { coins, accounts }: AskedSubjects,
  budget: Budget,
  busy: Map<string, number>,
): Promise<SightingsContent | null> {
  const { store, log, reader } = rooms;
  const spend = spender(budget, rooms.clock());
  const isServed = (of: AskedAccount): boolean => isOwn(store, agentId, of) && spend();
  const ask = async <T>(
    of: AskedAccount,
    question: (nodes: SightingReader) => Promise<readonly T[]>,
  ): Promise<readonly T[]> => {
    const nodes = reader(of.network);
    const under = busy.get(of.network) ?? 0;
    if (nodes === undefined || under >= atOnce || !isServed(of)) return [];
    busy.set(of.network, under + 1);
    try {
      return await question(nodes);
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      log.debug(
        { event: "sightings-unread", network: of.network, agent: agentId, code: error.code },
        error.message,
      );
      return [];
    } finally {
      busy.set(of.network, (busy.get(of.network) ?? 1) - 1);
    }
  };
  const named = grouped(coins).map((some) =>
    ask(some[0] as SightedCoin, (nodes) => shownOf(nodes, some)),
  );
  const begun = accounts.map((of) =>
    ask(of, async (nodes) =>
      nodes.nextSlot === undefined ? [] : [{ ...of, ...(await nodes.nextSlot(of.account)) }],
    ),
  );
  const [sighted, next] = await Promise.all([Promise.all(named), Promise.all(begun)]);
  const found = { coins: sighted.flat(), next: next.flat() };
  return found.coins.length + found.next.length === 0 ? null : found;
}

/** The coins of one account that its nodes show. */
async function shownOf(
  nodes: SightingReader,
  some: readonly SightedCoin[],
): Promise<readonly SightedCoin[]> {
  const [{ account } = { account: "" }] = some;
  const coins = some.map(({ id, units }) => ({ id, units: BigInt(units) }));
  const isShown = (await nodes.sightedCoins?.(account, coins)) ?? [];
  return some.filter((_, at) => isShown[at] === true);
}

/** The coins of each account together: they cost its nodes one question. */
function grouped(coins: readonly SightedCoin[]): readonly (readonly SightedCoin[])[] {
  const groups = new Map<string, SightedCoin[]>();
  for (const coin of coins) {
    const key = `${coin.network} ${coin.account}`;
    groups.set(key, [...(groups.get(key) ?? []), coin]);
  }
  return [...groups.values()];
}

/** True for an account from which this agent may be about to pay. */
function isOwn({ database }: Store, agentId: string, { network, account }: AskedAccount): boolean {
  const agent = readAgent(database, agentId);
  if (agent === undefined || !(JSON.parse(agent.networks) as readonly string[]).includes(network))
    return false;
  return (
    hotWalletAddressOn(agent, network) === account ||
    hasOpenSweepOf(database, agent.merchant, network, account)
  );
}

/** Takes one account of a budget that fills up with time; false if none is left. */
function spender(budget: Budget, nowMs: number): () => boolean {
  const passedMs = Math.max(0, nowMs - budget.atMs);
  budget.left = Math.min(accountsMax, budget.left + passedMs / accountMs);
  budget.atMs = nowMs;
  return () => {
    if (budget.left < 1) return false;
    budget.left -= 1;
    return true;
  };
}
