/**
 * A mark outside the ledger for everything that stops signatures: an operator's pause, stopped
 * networks and currencies, and the lock for a foreign transaction. It is durable before the records
 * are, and goes only when the record of the end is durable. So a ledger that lost its newest
 * records still starts stopped. Locks that each handshake finds again need no mark. docs/ledger.md,
 * section 7. Touches only its file, through the disk that is passed in.
 */
import { AgentError } from "../../../base/fault.ts";
import { parseJson } from "../../../base/json.ts";
import { type LedgerDisk, writeOrFault } from "../../ledger/folder.ts";
import type { RecordBody } from "../../ledger/records.ts";
import { parseStopKey, stopKey } from "../../socket/stops.ts";
import type { Core } from "../state/core.ts";

/** The file's name in the state folder. */
export const stopMarkName = "stopped.json";
const bytesMax = 65_536;
/** More networks and currencies than a wallet has. */
const networksMax = 256;
const lockCode = "CHAIN_SLOT_FOREIGN";
/** The approver if the name in the mark has no form that a record accepts. */
const unnamed = "mark";

interface Stop {
  readonly paused: string; // the operator's name, "" while signing is allowed
  readonly isLocked: boolean;
  readonly networks: readonly string[]; // and currencies in which no first attempt is signed, by `stopKey`, sorted
}

const none: Stop = { paused: "", isLocked: false, networks: [] };

export class StopMark {
  readonly #disk: LedgerDisk;
  #marked: Stop;

  /** @throws AgentError LEDGER_UNREADABLE, FILE_* if the file exists but cannot be read */
  constructor(disk: LedgerDisk) {
    this.#disk = disk;
    this.#marked = readStop(disk);
  }

  /** Returns the stops that are in the mark but not in the ledger, as the lost records. */
  lost(core: Core): readonly RecordBody[] {
    const now = stopOf(core);
    const { paused, isLocked, networks } = this.#marked;
    const lostNetworks = networks.filter((network) => !now.networks.includes(network));
    const detail = "the mark beside the ledger knows a lock that the ledger lost";
    return [
      ...(paused !== "" && now.paused === ""
        ? [{ kind: "PAUSED", paused: true, approver: paused } as const]
        : []),
      ...lostNetworks.map(
        (key) =>
          ({ kind: "PAUSED", paused: true, approver: unnamed, ...parseStopKey(key) }) as const,
      ),
      ...(isLocked && core.locked === null
        ? [{ kind: "LOCKED", code: lockCode, detail } as const]
        : []),
    ];
  }

  /**
   * Adds the stops of newly applied records to the mark, durably before it returns.
   * @returns true if a stop has ended; `settle` removes it from the mark once those records are
   * durable
   * @throws AgentError LEDGER_POISONED
   */
  hold(core: Core): boolean {
    const now = stopOf(core);
    const { paused, isLocked, networks } = this.#marked;
    const all = [...new Set([...networks, ...now.networks])].sort();
    this.#keep({ paused: now.paused || paused, isLocked: now.isLocked || isLocked, networks: all });
    return !isSame(now, this.#marked);
  }

  /**
   * Makes the mark equal to the ledger. A repeat is harmless. @throws AgentError LEDGER_POISONED
   */
  settle(core: Core): void {
    this.#keep(stopOf(core));
  }

  #keep(stop: Stop): void {
    if (isSame(stop, this.#marked)) return;
    writeOrFault(() => {
      if (!isSame(stop, none))
        this.#disk.create(stopMarkName, Buffer.from(`${JSON.stringify(stop)}\n`));
      else this.#disk.remove(stopMarkName);
    });
    this.#marked = stop;
  }
}

function stopOf({ paused, locked, stops }: Core): Stop {
  const networks = stops.networks().map(stopKey);
  return {
    paused: paused?.approver ?? "",
    isLocked: locked?.code === lockCode,
    networks: networks.sort(),
  };
}

function isSame(a: Stop, b: Stop): boolean {
  return (
    a.paused === b.paused &&
    a.isLocked === b.isLocked &&
    a.networks.join(" ") === b.networks.join(" ")
  );
}

/** Reads the mark. An unreadable mark counts as a pause, because the mark can only add a stop. */
function readStop(disk: LedgerDisk): Stop {
  if (!disk.list().includes(stopMarkName)) return none;
  try {
    const value = parseJson(disk.read(stopMarkName, 0, bytesMax), { bytesMax });
    const {
      paused,
      isLocked,
      networks: listed = [],
    } = value as Partial<Record<keyof Stop, unknown>>;
    const networks = readNetworks(listed);
    if (networks === null) return { ...none, paused: unnamed, isLocked: isLocked === true };
    const isOther = isLocked === true || networks.length > 0;
    if (paused === "" && isOther) return { paused, isLocked: isLocked === true, networks };
    const isName = typeof paused === "string" && /^[\x21-\x7e]{1,64}$/.test(paused);
    return { paused: isName ? paused : unnamed, isLocked: isLocked === true, networks };
  } catch (error) {
    if (error instanceof AgentError && !error.code.startsWith("JSON_")) throw error;
    return { ...none, paused: unnamed };
  }
}

/** Null for networks that no record accepts. */
function readNetworks(value: unknown): readonly string[] | null {
  if (!Array.isArray(value) || value.length > networksMax) return null;
  const isNetwork = (one: unknown): one is string =>
    typeof one === "string" && /^[\x21-\x7e]{1,128}$/.test(one);
  return value.every(isNetwork) ? [...value].sort() : null;
}
