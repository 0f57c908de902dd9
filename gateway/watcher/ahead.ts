/**
 * Looks at the addresses that leave next. An address that was never used has no balance, so its
 * baseline is known before any customer can pay. An address with a balance, or one that was ever
 * used, belongs to an earlier user and is skipped. No address leaves without a look
 * (deposits/deposit-account.ts), and accounts for which an order waits come first. The nodes are
 * asked only once in a run whether an address was used. Source: docs/architecture.md section 8.
 */

import { AgentError } from "../../base/fault.ts";
import { valuesIn } from "../../base/result.ts";
import { familyOf } from "../../chains/families.ts";
import type { BlockId } from "../../chains/nodes.ts";
import { issuedAddress, keepAhead, lookMs, readAddressState, wasLookedAt } from "../store/address-states.ts";
import { depositsIdOn } from "../store/agent-accounts.ts";
import { listPairedOn } from "../store/agents.ts";
import { readCursor } from "../store/cursors.ts";
import { listReceivingAccounts } from "../store/receiving-keys.ts";
import type { Database } from "../store/store.ts";
import { raiseAlarm, type WatchedChain } from "./chain.ts";

/** Indexes of each account that are read ahead. */
export const placesAhead = 32;
/** Accounts of one pass, in turn, and addresses that it derives; each costs milliseconds. */
const accountsMax = 16;
const derivedAtOnce = 32;
/** Addresses of one pass, and the same if each address is its own question. */
const addressesMax = 128;
const addressesMaxEach = 8;

/**
 * A cache of derived addresses, the next account in turn, and the accounts for which orders wait.
 */
export interface AheadMemory {
  readonly derived: Map<string, string>; // address by account and index
  readonly unused: Set<string>; // addresses that the nodes called unused in this run
  readonly asked: Set<string>; // accounts for which an order waits
  turn: number;
}

export function newAheadMemory(): AheadMemory {
  return { derived: new Map(), unused: new Set(), asked: new Set(), turn: 0 };
}

/** Lets the next pass begin with an account, because an order waits for its next addresses. */
export function askAhead({ asked }: AheadMemory, account: string): void {
  asked.add(account);
}

/**
 * Runs one pass and signals the orders that waited for it.
 * @throws AgentError NODE_*; the orders wait for the next pass
 */
export async function lookAhead(chain: WatchedChain, memory: AheadMemory, final: BlockId): Promise<void> {
  const { store, network, signals } = chain;
  // Nodes that lag show an older state than the state that was read before.
  if ((readCursor(store.database, network)?.block ?? 0) > final.number) return;
  const asked = [...memory.asked];
  const wanted = nextAddresses(chain, memory);
  if (wanted.length > 0) await lookAt(chain, memory, wanted, final);
  for (const account of asked) {
    memory.asked.delete(account);
    signals.emit("looked", { network, account });
  }
}

async function lookAt(chain: WatchedChain, memory: AheadMemory, wanted: readonly string[], final: BlockId): Promise<void> {
  const { store, network, reader } = chain;
  const currencies = chain.currencies.filter(({ id }) => !chain.tokens.out.has(id));
  const questions = wanted.flatMap((address) => currencies.map(({ contract }) => ({ account: address, contract })));
  const units = valuesIn(await reader.balances(questions, final.number));
  const holds = (at: number): boolean =>
    units.slice(at * currencies.length, (at + 1) * currencies.length).some((each) => each > 0n);
  const asked = wanted.filter((address, at) => !holds(at) && !memory.unused.has(address));
  const answers = await usedOf(chain, asked, final.number);
  const spent = new Set(asked.filter((_, at) => answers[at] === true));
  store.write((database) => {
    for (const [at, address] of wanted.entries()) {
      const isUsed = holds(at) || spent.has(address);
      const state = { network, address, block: final.number, comparedAt: chain.clock(), run: chain.run };
      keepAhead(database, { ...state, isUsed: isUsed ? 1 : 0 });
      if (isUsed) tellUsed(chain, database, address, holds(at) ? "holds something" : "was used");
    }
  });
  if (memory.unused.size >= derivedMax) memory.unused.clear();
  for (const [at, address] of asked.entries()) if (answers[at] === false) memory.unused.add(address);
}

/**
 * Null if the nodes disagree; then only the balance decides, and the next look asks again. The
 * other work on the chain does not wait.
 */
async function usedOf(
  { reader }: WatchedChain,
  addresses: readonly string[],
  block: number,
): Promise<readonly (boolean | null)[]> {
  try {
    return valuesIn(await reader.wereUsed(addresses, block));
  } catch (error) {
    if (!(error instanceof AgentError) || error.code === "NODE_CLOSED") throw error;
    return addresses.map(() => null);
  }
}

function tellUsed(chain: WatchedChain, database: Database, address: string, what: string): void {
  const detail = `${address} ${what} before it was given out to anybody; the next deposits pass it over`;
  raiseAlarm(chain, database, { code: "WATCHER_ADDRESS_USED", subject: address, detail });
}

/**
 * Addresses to look at in this pass: first of the accounts for which orders wait, then of one
 * account after the other in turn.
 */
function nextAddresses(chain: WatchedChain, memory: AheadMemory): readonly string[] {
  const { database } = chain.store;
  const most = chain.reader.tellsNewestBalances === true ? addressesMaxEach : addressesMax;
  const since = chain.clock() - lookMs / 2;
  const accounts = accountsOf(chain, database);
  const found: string[] = [];
  const visited = Math.min(accounts.length, accountsMax);
  const inTurn = Array.from({ length: visited }, (_, at) => accounts[(memory.turn + at) % accounts.length] as Account);
  const derived = memory.derived.size;
  for (const { id, next } of [...accounts.filter((one) => memory.asked.has(one.id)), ...inTurn]) {
    for (let place = next; place < next + placesAhead; place += 1) {
      if (found.length === most || memory.derived.size - derived >= derivedAtOnce) return found;
      const address = derive(chain, memory, id, place);
      const isKnown = wasLookedAt(readAddressState(database, chain.network, address), since) || found.includes(address);
      if (!isKnown && issuedAddress(database, address) === undefined) found.push(address);
    }
  }
  memory.turn += visited;
  return found;
}

interface Account {
  readonly id: string;
  readonly next: number; // the first index that has not left
}

function accountsOf({ network }: WatchedChain, database: Database): readonly Account[] {
  const agents = listPairedOn(database, network).map((agent) => ({
    id: depositsIdOn(agent, network),
    next: agent.nextDepositIndex,
  }));
  return [...agents.filter(({ id }) => id !== ""), ...listReceivingAccounts(database, familyOf(network).name)];
}

const derivedMax = 100_000;

function derive({ network }: WatchedChain, { derived }: AheadMemory, id: string, place: number): string {
  const key = `${id} ${place}`;
  const known = derived.get(key);
  if (known !== undefined) return known;
  if (derived.size >= derivedMax) derived.clear();
  const address = familyOf(network).depositAddress(id, place);
  derived.set(key, address);
  return address;
}
