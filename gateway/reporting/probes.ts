/** The checks of the gateway's parts, for `/ready`, `health`, `status` and alerts. Each is fast. */
import { booksState } from "../books/state.ts";
import { certificateState } from "../config/certificate-end.ts";
import type { GatewayConfig } from "../config/config.ts";
import { unreadPrefix } from "../faults/domains.ts";
import { type ClockState, clockWords } from "../own-clock.ts";
import { unpricedOf } from "../prices/unpriced.ts";
import { type JudgedParts, nothingSeen } from "../problems/judged.ts";
import { activeCheck, type CheckKind, findCheckProblem } from "../problems/table.ts";
import type { Prices, Probe } from "../service.ts";
import { currencyHoldOf, heldText } from "../store/currency-holds.ts";
import { fileBytesOf, freeBytesOf } from "../store/disk.ts";
import { probeDatabase } from "../store/meta.ts";
import { findOtherDatabaseProcesses, otherProgramsText } from "../store/neighbours.ts";
import type { Store } from "../store/store.ts";
import type { Watcher } from "../watcher/watcher.ts";

const storeTroubleWords = {
  "": "",
  held: "another process holds the database: nothing can be written, and it is tried on",
  full: "the disk of the database is full: nothing can be written, and it is tried on",
} as const;

function storeWords(store: Store): string {
  try {
    probeDatabase(store.database);
    return store.poisoned ? "a commit failed" : storeTroubleWords[store.trouble];
  } catch (error) {
    return (error instanceof Error ? error.message : "") || "it cannot be read";
  }
}

/** Why nothing in a currency is taken: out of service, or held for all merchants; "" in service. */
function currencyWords(id: string, { store, outOfService }: ProbesOptions): string {
  const reason = outOfService(id);
  if (reason === "") return currencyHoldOf(store.database, id, "") === undefined ? "" : heldText;
  const why = reason.startsWith(unreadPrefix)
    ? "no balance in it can be read"
    : "its contract does not confirm its decimals";
  return `out of service: ${why}`;
}

/** The one check of a standby: a balancer sends it no request that writes. */
export const standbyProbe: Probe = () => ({
  name: activeCheck,
  ok: false,
  detail: "this gateway is a standby and answers GET alone; cluster names the active one",
});

export interface ProbesOptions {
  readonly config: GatewayConfig;
  readonly store: Store;
  readonly clock: () => number; // milliseconds since 1970
  readonly certificateEndsAtMs: () => number | null; // null without a certificate
  readonly watcher: () => Watcher | null; // null before it has started
  readonly outOfService: (currency: string) => string; // the reason; "" in service
  readonly ownClock: () => ClockState; // this machine's clock as the chains judge it
  readonly prices: Prices;
}

/**
 * The parts of one gateway as the table of problems judges them. A hold of one merchant is none.
 */
export function partsOf(options: ProbesOptions): JudgedParts {
  const { config, store, clock, certificateEndsAtMs, watcher, ownClock, prices } = options;
  const { database } = config;
  return {
    store: () => storeWords(store),
    freeBytes: () => freeBytesOf(database),
    walBytes: () => fileBytesOf(`${database}-wal`),
    databaseReaders: () => otherProgramsText(findOtherDatabaseProcesses(database)),
    certificate: () => certificateState(certificateEndsAtMs(), clock()),
    clock: () => clockWords(ownClock()),
    chains: Object.keys(config.chains).map((chain) => ({
      chain,
      status: () =>
        watcher()
          ?.chainStatus()
          .find((one) => one.chain === chain),
    })),
    currencies: Object.values(config.currencies)
      .filter(({ contract }) => contract !== "")
      .map(({ id }) => ({ id, why: () => currencyWords(id, options) })),
    unpriced: () => unpricedOf(prices, config.currencies),
    books: Object.entries(config.chains).map(([chain, { network }]) => ({
      chain,
      state: () => booksState(store.database, network, clock()),
    })),
  };
}

/** One check of `/ready`: what the table finds in this part. */
function probeOf(name: string, parts: Partial<JudgedParts>, isAlone: boolean): Probe {
  const [kind] = name.split(" ") as [CheckKind];
  const judged = { ...nothingSeen, ...parts };
  const others = isAlone ? ({ aloneOut: true } as const) : {};
  return () => ({
    name,
    ...(findCheckProblem(judged, kind) ?? { ok: true, detail: "" }),
    ...others,
  });
}

/** All checks of one gateway, in the order in which `/ready` shows them. */
export function probesOf(options: ProbesOptions): readonly Probe[] {
  const parts = partsOf(options);
  const { chains, currencies, books } = parts;
  return [
    probeOf("database", parts, false),
    probeOf("disk", parts, true),
    probeOf("wal", parts, true),
    probeOf("certificate", parts, true),
    probeOf("clock", parts, false),
    probeOf("chains", parts, false),
    ...chains.map((one) => probeOf(`chain ${one.chain}`, { chains: [one] }, true)),
    ...currencies.map((one) => probeOf(`currency ${one.id}`, { currencies: [one] }, true)),
    probeOf("prices", parts, true),
    ...books.map((one) => probeOf(`books ${one.chain}`, { books: [one] }, true)),
  ];
}
