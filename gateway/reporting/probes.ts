/** The checks of the gateway's parts, for `/ready`, `health`, `status` and alerts. Each is fast. */
import { booksState } from "../books/state.ts";
import { certificateState } from "../config/certificate-end.ts";
import type { GatewayConfig } from "../config/config.ts";
import { unreadPrefix } from "../faults/domains.ts";
import { type ClockState, clockWords } from "../own-clock.ts";
import { unpricedOf } from "../prices/unpriced.ts";
import type { Prices, Probe } from "../service.ts";
import { currencyHoldOf, heldText } from "../store/currency-holds.ts";
import { fileBytesOf, freeBytesOf, freeDiskBytesMin, walBytesMax } from "../store/disk.ts";
import { probeDatabase } from "../store/meta.ts";
import { findOtherDatabaseProcesses, otherProgramsText } from "../store/neighbours.ts";
import type { Store } from "../store/store.ts";
import type { ChainStatus } from "../watcher/chain-status.ts";
import type { Watcher } from "../watcher/watcher.ts";

const troubleWords = {
  "": "",
  held: "another process holds the database: nothing can be written, and it is tried on",
  full: "the disk of the database is full: nothing can be written, and it is tried on",
} as const;

function storeProbe(store: Store): Probe {
  return () => {
    try {
      probeDatabase(store.database);
      const detail = store.poisoned ? "a commit failed" : troubleWords[store.trouble];
      return { name: "database", ok: detail === "", detail };
    } catch (error) {
      return { name: "database", ok: false, detail: error instanceof Error ? error.message : "" };
    }
  };
}

/** Free space on the disk of the database, with the same limit as the signer's ledger. */
function roomProbe(database: string): Probe {
  return () => {
    const free = freeBytesOf(database);
    const ok = free === null || free >= freeDiskBytesMin;
    const detail = ok
      ? ""
      : `${Math.floor(free / 1024 / 1024)} MiB are free on the database's disk, too few: make room`;
    return { name: "disk", ok, detail, aloneOut: true };
  };
}

/**
 * The write-ahead file of the database. It grows without end while another process keeps an old
 * state open.
 */
function walProbe(database: string): Probe {
  return () => {
    const bytes = fileBytesOf(`${database}-wal`);
    if (bytes <= walBytesMax) return { name: "wal", ok: true, detail: "" };
    const detail = `the write-ahead file of the database has ${Math.floor(bytes / 1024 / 1024)} MiB`;
    const others = otherProgramsText(findOtherDatabaseProcesses(database));
    const full = `${detail}: ${others === "" ? "another program reads an old state" : `end ${others}, which reads an old state`}`;
    return { name: "wal", ok: false, detail, full, aloneOut: true };
  };
}

/** The end of the certificate, from two weeks before it on. */
function certificateProbe(endsAtMs: () => number | null, clock: () => number): Probe {
  return () => {
    const state = certificateState(endsAtMs(), clock());
    return { name: "certificate", ok: state.left !== "none", detail: state.words, aloneOut: true };
  };
}

/** This machine's clock, which every chain that is read contradicts. */
function clockProbe(ownClock: () => ClockState): Probe {
  return () => {
    const detail = clockWords(ownClock());
    return { name: "clock", ok: detail === "", detail };
  };
}

/**
 * The state of a chain, "" if all is well. The public text has the fault's code or a fixed text,
 * and the number of good nodes. It names each bad node by its position in the configuration, with
 * the problem. The operator's text also has the node's address without its path, and the node's own
 * message.
 */
function chainDetail({ ok, detail, plain, nodes, delays }: ChainStatus, isFull: boolean): string {
  const wrong = nodes.flatMap((node, at) => {
    if (node.since === null) return [];
    return [
      isFull ? `${node.url} ${node.detail.replace(/^[A-Z_]+: /, "")}` : `node ${at} ${node.plain}`,
    ];
  });
  const late = delays.map((delay) => `${delay.code}: ${isFull ? delay.words : delay.plain}`);
  if (ok && wrong.length === 0) return late.join("; ");
  const words = isFull ? detail : plain;
  const answering = `${nodes.filter((node) => node.ok).length} of ${nodes.length} nodes answer`;
  const unsaid = wrong.filter((one) => ok || !words.includes(one));
  return [...(ok ? late : [`not read: ${words}`]), answering, ...unsaid].join("; ");
}

/**
 * One check for each chain, and one for all of them. One chain that is not read costs no other, so
 * the gateway is ready while any of them is read.
 */
function chainProbes(config: GatewayConfig, watcher: () => Watcher | null): readonly Probe[] {
  const ofEach = Object.keys(config.chains).map(
    (name): Probe =>
      () => {
        const status = watcher()
          ?.chainStatus()
          .find((one) => one.chain === name);
        const aloneOut = true;
        if (status === undefined)
          return {
            name: `chain ${name}`,
            ok: false,
            detail: "not read: the gateway is starting",
            aloneOut,
          };
        const [detail, full] = [chainDetail(status, false), chainDetail(status, true)];
        return { name: `chain ${name}`, ok: status.ok, detail, full, aloneOut };
      },
  );
  const ofAll: Probe = () => {
    const ok = ofEach.length === 0 || ofEach.some((probe) => probe().ok);
    return { name: "chains", ok, detail: ok ? "" : "no chain is read" };
  };
  return [ofAll, ...ofEach];
}

/**
 * One check for each token. If a token is out of service or held, the gateway is still ready. A
 * hold of one merchant is in `status` alone.
 */
function currencyProbes(
  config: GatewayConfig,
  { database }: Pick<Store, "database">,
  outOfService: (currency: string) => string,
): readonly Probe[] {
  return Object.values(config.currencies)
    .filter(({ contract }) => contract !== "")
    .map(({ id }) => () => {
      const reason = outOfService(id);
      if (reason === "" && currencyHoldOf(database, id, "") !== undefined)
        return { name: `currency ${id}`, ok: false, detail: heldText, aloneOut: true };
      const why = reason.startsWith(unreadPrefix)
        ? "no balance in it can be read"
        : "its contract does not confirm its decimals";
      const detail = reason === "" ? "" : `out of service: ${why}`;
      return { name: `currency ${id}`, ok: reason === "", detail, aloneOut: true };
    });
}

/** Prices that do not hold. Requests in coins are taken all the same. */
function pricesProbe(config: GatewayConfig, prices: Prices): Probe {
  return () => {
    const unpriced = unpricedOf(prices, config.currencies).map(
      ({ currency, fiat }) => `${currency.id} in ${fiat}`,
    );
    const detail =
      unpriced.length === 0 ? "" : `no price holds of ${unpriced.join(", ")}: quotes are refused`;
    return { name: "prices", ok: unpriced.length === 0, detail, aloneOut: true };
  };
}

/**
 * One check for each chain's books. A difference waits for an operator, and the gateway is still
 * ready.
 */
function booksProbes(config: GatewayConfig, store: Store, clock: () => number): readonly Probe[] {
  return Object.entries(config.chains).map(([name, { network }]) => () => {
    const { ok, detail } = booksState(store.database, network, clock());
    return { name: `books ${name}`, ok, detail, aloneOut: true };
  });
}

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

/** All checks of one gateway, in the order in which `/ready` shows them. */
export function probesOf(options: ProbesOptions): readonly Probe[] {
  const { config, store, clock, certificateEndsAtMs, watcher, outOfService, ownClock, prices } =
    options;
  return [
    storeProbe(store),
    roomProbe(config.database),
    walProbe(config.database),
    certificateProbe(certificateEndsAtMs, clock),
    clockProbe(ownClock),
    ...chainProbes(config, watcher),
    ...currencyProbes(config, store, outOfService),
    pricesProbe(config, prices),
    ...booksProbes(config, store, clock),
  ];
}
