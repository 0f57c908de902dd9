/**
 * `deposits credit ID --payment HASH` for a payment that the database does not have, on a chain
 * whose payments differ by tags: the gateway's own nodes prove it, and it is kept as the running
 * gateway would have kept it. Works while the gateway runs.
 */
import { AgentError, type Refusal, refuse } from "../../base/fault.ts";
import { openWatcher } from "../../chains/connect.ts";
import { familyOf } from "../../chains/families.ts";
import type { WatcherNodes } from "../../chains/nodes.ts";
import { hasTags } from "../../chains/payees.ts";
import type { GatewayChain, GatewayConfig } from "../config/config.ts";
import { readSecretFile } from "../config/secret-file.ts";
import { FaultBook } from "../faults/book.ts";
import { rightClock } from "../own-clock.ts";
import { recordAct } from "../store/audit.ts";
import { listFinalOf } from "../store/payments.ts";
import { createSignals } from "../store/signals.ts";
import { namedTransaction } from "../store/transaction-lists.ts";
import { currenciesOf, type WatchedChain } from "../watcher/chain.ts";
import { nodeLog } from "../watcher/node-log.ts";
import { proveByHash } from "../watcher/proven.ts";
import type { Operator } from "./accounts.ts";
import { makeLog, readClock } from "./command.ts";

/** Opens the questions to the nodes of a chain of the configuration, by its name there. */
export type OpenNodes = (
  name: string,
  chain: GatewayChain,
) => Pick<WatcherNodes, "paymentBy" | "close">;

export const openNodes: OpenNodes = (name, chain) =>
  openWatcher({ chain, readSecretFile, log: nodeLog(makeLog("error"), name) });

/**
 * Keeps the payments by these hashes to the account of a deposit, those alone that the database
 * does not have. Other chains have balances, which tell what came: nothing is asked there. Harmless
 * to call twice. Refuses GATEWAY_UNKNOWN_RECORD, and GATEWAY_PAYMENT_UNPROVEN for one that the
 * nodes do not prove.
 */
export async function provePayments(
  by: Operator,
  {
    config,
    open,
  }: { readonly config: Pick<GatewayConfig, "chains" | "currencies">; readonly open: OpenNodes },
  id: string,
  { payments, reason }: { readonly payments: readonly string[]; readonly reason: string },
): Promise<{ readonly ok: true } | Refusal> {
  const { database } = by.store;
  const row = namedTransaction(database, "deposit", id);
  if (row === undefined) return refuse("GATEWAY_UNKNOWN_RECORD");
  if (!hasTags(row.network)) return { ok: true };
  const hashes = [...new Set(payments.map((name) => name.replace(/:-?\d+$/, "").toUpperCase()))];
  const unknown = hashes.filter(
    (one) =>
      familyOf(row.network).isTxHash(one) && listFinalOf(database, row.network, one).length === 0,
  );
  if (unknown.length === 0) return { ok: true };
  const named = Object.entries(config.chains).find(([, one]) => one.network === row.network);
  if (named === undefined)
    return refuse("GATEWAY_PAYMENT_UNPROVEN", `no chain of the configuration is ${row.network}`);
  const reader = open(...named);
  try {
    const chain = chainOf(by, config.currencies, named, reader as WatcherNodes);
    for (const txHash of unknown) {
      const proven = await proveByHash(
        chain,
        { txHash, depositAddress: row.depositAddress },
        (inside) =>
          recordAct(inside, {
            at: by.nowMs,
            actor: by.actor,
            act: "payment proven",
            subject: id,
            detail: `${txHash}: ${reason}`,
          }),
      );
      if ("problem" in proven) return refuse("GATEWAY_PAYMENT_UNPROVEN", proven.problem);
    }
    return { ok: true };
  } catch (error) {
    if (!(error instanceof AgentError) || !error.code.startsWith("NODE_")) throw error;
    return refuse("GATEWAY_PAYMENT_UNPROVEN", `${error.code}: ${error.message}`);
  } finally {
    reader.close();
  }
}

function chainOf(
  { store, run }: Operator,
  currencies: GatewayConfig["currencies"],
  [name, chain]: readonly [name: string, chain: GatewayChain],
  reader: WatcherNodes,
): WatchedChain {
  // The native coin is paid alone, and no token is asked.
  const tokens = { confirmed: new Set<string>(), out: new Map<string, string>(), askedAt: null };
  const served = {
    network: chain.network,
    reader,
    currencies: currenciesOf(chain, currencies),
    tokens,
  };
  const told = {
    faults: new FaultBook(readClock),
    signals: createSignals(),
    log: makeLog("error"),
  };
  return {
    ...served,
    ...told,
    name,
    store,
    clock: readClock,
    hasLongBlocks: false,
    ownClock: () => rightClock,
    confirmingMs: 0,
    run: run ?? "",
  };
}
