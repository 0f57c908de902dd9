/**
 * A mark outside the ledger for everything that stops signatures: an operator's pause, and the lock
 * for a foreign transaction. It is durable before the records are, and goes only when the record of
 * the end is durable. So a ledger that lost its newest records still starts stopped. Locks that
 * each handshake finds again need no mark. docs/ledger.md, section 7. Touches only its file,
 * through the disk that is passed in.
 */
import { AgentError } from "../../../base/fault.ts";
import { parseJson } from "../../../base/json.ts";
import { type LedgerDisk, writing } from "../../ledger/folder.ts";
import type { RecordBody } from "../../ledger/records.ts";
import type { Core } from "../state/core.ts";

/** The file's name in the state folder. */
export const stopMarkName = "stopped.json";
const bytesMax = 1_024;
const lockCode = "CHAIN_SLOT_FOREIGN";
/** The approver if the name in the mark has no form that a record accepts. */
const unnamed = "mark";

interface Stop {
  readonly paused: string; // the operator's name, "" while signing is allowed
  readonly isLocked: boolean;
}

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
    const { paused, isLocked } = this.#marked;
    const detail = "the mark beside the ledger knows a lock that the ledger lost";
    return [
      ...(paused !== "" && now.paused === "" ? [{ kind: "PAUSED", paused: true, approver: paused } as const] : []),
      ...(isLocked && core.locked === null ? [{ kind: "LOCKED", code: lockCode, detail } as const] : []),
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
    const { paused, isLocked } = this.#marked;
    this.#keep({ paused: now.paused || paused, isLocked: now.isLocked || isLocked });
    return now.paused !== this.#marked.paused || now.isLocked !== this.#marked.isLocked;
  }

  /**
   * Makes the mark equal to the ledger. A repeat is harmless. @throws AgentError LEDGER_POISONED
   */
  settle(core: Core): void {
    this.#keep(stopOf(core));
  }

  #keep(stop: Stop): void {
    const { paused, isLocked } = this.#marked;
    if (stop.paused === paused && stop.isLocked === isLocked) return;
    writing(() => {
      if (stop.paused !== "" || stop.isLocked) this.#disk.create(stopMarkName, Buffer.from(`${JSON.stringify(stop)}\n`));
      else this.#disk.remove(stopMarkName);
    });
    this.#marked = stop;
  }
}

function stopOf({ paused, locked }: Core): Stop {
  return { paused: paused?.approver ?? "", isLocked: locked?.code === lockCode };
}

/** Reads the mark. An unreadable mark counts as a pause, because the mark can only add a stop. */
function readStop(disk: LedgerDisk): Stop {
  if (!disk.list().includes(stopMarkName)) return { paused: "", isLocked: false };
  try {
    const value = parseJson(disk.read(stopMarkName, 0, bytesMax), { bytesMax });
    const { paused, isLocked } = value as { readonly paused?: unknown; readonly isLocked?: unknown };
    if (paused === "" && isLocked === true) return { paused, isLocked };
    const isName = typeof paused === "string" && /^[\x21-\x7e]{1,64}$/.test(paused);
    return { paused: isName ? paused : unnamed, isLocked: isLocked === true };
  } catch (error) {
    if (error instanceof AgentError && !error.code.startsWith("JSON_")) throw error;
    return { paused: unnamed, isLocked: false };
  }
}
