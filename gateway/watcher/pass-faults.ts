/**
 * The begin and the end of a pass in the book of faults: currencies that are not read are asked for
 * by a question about nobody's account, and the same question tells at the end of a pass if a fault
 * is the item's or its currency's. The faults that stand are kept for operators and the next run.
 */

import type { Code } from "../../base/codes.ts";
import { AgentError } from "../../base/fault.ts";
import { type Result, resultOf } from "../../base/result.ts";
import type { BlockId } from "../../chains/nodes.ts";
import { type FaultDomain, faultDomains } from "../faults/domains.ts";
import { type Fault, type FaultKey, keyText } from "../faults/fault.ts";
import { issuedAddress } from "../store/address-states.ts";
import {
  dropFault,
  hasFaultRetries,
  keepFault,
  listFaults,
  takeFaultRetries,
} from "../store/faults.ts";
import type { WatchedChain } from "./chain.ts";
import { faultKeyOn } from "./items.ts";
import { unreadFaults } from "./unread.ts";

/** Rows that were last kept, by the item: its code. Null before the first pass of a run. */
export interface FaultMemory {
  kept: Map<string, string> | null;
}

export function newFaultMemory(): FaultMemory {
  return { kept: null };
}

/** Takes the faults of the run before, and the items that an operator wants tried. */
export function beginPass(chain: WatchedChain, memory: FaultMemory): void {
  const { faults, store, network } = chain;
  if (memory.kept === null) {
    const rows = listFaults(store.database, network).filter(
      ({ domain, id }) => id !== "" && Object.hasOwn(faultDomains, domain),
    );
    memory.kept = new Map(
      rows.map((row) => [`${row.domain} ${network} ${row.id}`, `${row.code} ${row.since}`]),
    );
    // A transaction that cannot be read has a row of its own, which is the truth.
    // An address that no request has is asked for again, unless an order passed it over.
    const isGone = ({ domain, id }: (typeof rows)[number]): boolean =>
      domain === "address" &&
      issuedAddress(store.database, id.split(" ")[0] as string) === undefined;
    const others = rows.filter(
      (row) => row.domain !== "transaction" && row.domain !== "history" && !isGone(row),
    );
    faults.restore([
      ...unreadFaults(chain),
      ...others.map(({ domain, id, merchant, code, words, since: sinceMs, tries }): Fault => {
        const said = { code: code as Code, words, plain: code };
        return {
          domain: domain as FaultDomain,
          network,
          id,
          merchant,
          ...said,
          sinceMs,
          tries,
          retryAtMs: sinceMs,
          count: 1,
        };
      }),
    ]);
  }
  faults.beginPass();
  if (hasFaultRetries(store.database, network)) {
    for (const row of store.write((database) => takeFaultRetries(database, network)))
      faults.retry({ domain: row.domain as FaultDomain, network, id: row.id });
  }
}

/** Asks for the currencies that are not read, once their rest is over. */
export async function retryUnreadCurrencies(chain: WatchedChain, final: BlockId): Promise<void> {
  const { faults, network } = chain;
  for (const { id } of faults.list({ domain: "currency", network })) {
    const key = faultKeyOn(chain, "currency", id);
    if (chain.tokens.out.has(id) || !faults.isDue(key)) continue;
    const answer = await askNobody(chain, id, final);
    if (answer !== null) faults.settle(key, answer, true);
  }
}

/** Ends the pass: faults rise, and those that stand are kept. */
export async function endPass(
  chain: WatchedChain,
  final: BlockId,
  memory: FaultMemory,
): Promise<void> {
  const controls = new Map<string, Result<unknown>>();
  for (const parent of chain.faults.doubts()) {
    const answer = await control(chain, parent, final);
    if (answer !== null) controls.set(keyText(parent), answer);
  }
  chain.faults.endPass(controls);
  keepFaults(chain, memory);
}

/** A question about nothing of anybody: a balance in the currency, or the chain's final block. */
async function control(
  chain: WatchedChain,
  { domain, id }: FaultKey,
  final: BlockId,
): Promise<Result<unknown> | null> {
  if (domain === "currency") return askNobody(chain, id, final);
  return domain === "head" ? resultOf(() => chain.reader.finalTip()) : null;
}

/** Null for a currency that is not configured. */
async function askNobody(
  { reader, currencies }: WatchedChain,
  id: string,
  { number }: BlockId,
): Promise<Result<unknown> | null> {
  const currency = currencies.find((one) => one.id === id);
  if (currency === undefined) return null;
  const { contract } = currency;
  const told = await resultOf(() =>
    reader.balances([{ account: reader.nobody, contract }], number),
  );
  return told.ok ? (told.value[0] ?? told) : told;
}

/** Words of nodes change with each try; those of a gap say what it waits for. */
const markOf = ({ domain, code, sinceMs, words }: Fault): string =>
  `${code} ${sinceMs}${domain === "history" ? ` ${words}` : ""}`;

/** Writes only what changed: an item that came or went, another code or another beginning. */
function keepFaults({ faults, store, network }: WatchedChain, memory: FaultMemory): void {
  // A fault of the chain itself is told by its status.
  const items = faults
    .list({ network })
    .filter(({ domain, id }) => id !== "" || (domain !== "head" && domain !== "span"));
  const standing = new Map(items.map((fault) => [keyText(fault), fault]));
  const before = memory.kept ?? new Map<string, string>();
  const changed = [...standing.values()].filter(
    (fault) => before.get(keyText(fault)) !== markOf(fault),
  );
  const gone = [...before.keys()].filter((text) => !standing.has(text));
  if (changed.length + gone.length === 0) return;
  store.write((database) => {
    for (const { sinceMs: since, retryAtMs: _, plain: __, count: ___, ...fault } of changed)
      keepFault(database, { ...fault, since });
    for (const text of gone) {
      const [domain = "", of = "", ...id] = text.split(" ");
      dropFault(database, { domain, network: of, id: id.join(" ") });
    }
  });
  memory.kept = new Map([...standing].map(([text, fault]) => [text, markOf(fault)]));
}

/** Makes one part of a pass. Null after a fault, which is kept; a bug is thrown on. */
export async function tryJob<T>(faults: AgentError[], job: () => Promise<T>): Promise<T | null> {
  try {
    return await job();
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    faults.push(error);
    return null;
  }
}
