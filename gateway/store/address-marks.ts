/**
 * How far each deposit account was used, in a file next to the database. A database that is
 * restored from a backup brings back old counts, but the file keeps the newest. A line names an
 * account, the first index whose address has not left, and the ceiling below which addresses may
 * leave. The newest line of an account counts. Only the gateway that owns the database writes.
 * Source: docs/backup.md, section 5.
 */
import {
  closeSync,
  constants,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { AgentError, Bug, reasonOf } from "../../base/fault.ts";

/** Knowledge of one account outside the database. */
export interface AddressMark {
  readonly next: number; // every address that left has a lower index
  readonly ceiling: number; // no address at or above this index has left
}

/** `account` is the account's address at index 0, which is the same for every text of its key. */
export interface IssuedAddressMarks {
  /** Undefined if no address of the account ever left. */
  of(account: string): AddressMark | undefined;
  /**
   * Returns when the ceiling is durable. A lower ceiling changes nothing.
   * @throws AgentError GATEWAY_MARKS: nothing may leave. After a full disk the next call may work
   */
  raise(account: string, ceiling: number): void;
  /**
   * Resolves when the mark is durable: then addresses below `next` may leave. Notes that wait for
   * the disk at the same time share one sync.
   * @throws AgentError GATEWAY_MARKS
   */
  note(account: string, next: number): Promise<void>;
  /**
   * Resolves when all earlier notes are durable.
   * @throws AgentError GATEWAY_MARKS
   */
  settled(): Promise<void>;
  /** Harmless to call twice. */
  close(): void;
}

/** Path of the file that belongs to the database at `database`. */
export const marksPathOf = (database: string): string => `${database}.addresses`;

const heading = "autowithdraw addresses 1";
const lineOf = (account: string, { next, ceiling }: AddressMark): string =>
  `${account} ${next} ${ceiling}\n`;
const linePattern = /^([\x21-\x7e]{1,128}) (\d{1,10}) (\d{1,10})$/;

/**
 * Reads the file. Null if there is no file or the file is not complete. A last line that a power
 * failure cut is skipped, because no address left before its line was durable.
 * @throws AgentError GATEWAY_MARKS if the file cannot be read
 */
export function readMarks(path: string): ReadonlyMap<string, AddressMark> | null {
  let text: string;
  try {
    text = readFileSync(path, "latin1");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw fault(path, cause);
  }
  const [first, ...lines] = text.split("\n").slice(0, -1);
  if (first !== heading) return null;
  const marks = new Map<string, AddressMark>();
  for (const line of lines) {
    const [, account, next, ceiling] = linePattern.exec(line) ?? [];
    if (account === undefined) return null;
    marks.set(
      account,
      farther(marks.get(account), { next: Number(next), ceiling: Number(ceiling) }),
    );
  }
  return marks;
}

function farther(known: AddressMark | undefined, said: AddressMark): AddressMark {
  return {
    next: Math.max(known?.next ?? 0, said.next),
    ceiling: Math.max(known?.ceiling ?? 0, said.ceiling),
  };
}

/** An open file that takes lines. */
interface Place {
  append(text: string): void; // all of the text or, if it throws, nothing of it
  syncNow(): void;
  sync(done: (fault: AgentError | null) => void): void;
  close(): void;
}

/** Marks that are kept in `place`. `onBroken` is called once, after a sync that failed. */
export function makeAddressMarks(
  known: ReadonlyMap<string, AddressMark>,
  place: Place,
  onBroken: (fault: AgentError) => void = () => {},
): IssuedAddressMarks {
  const marks = new Map(known);
  const owed = new Map<string, number>(); // noted, not on disk yet
  let waiting: ((error: Error | null) => void)[] = [];
  let isSyncing = false;
  let broken: AgentError | null = null; // a sync failed, so a later sync proves nothing
  const breakBy = (fault: AgentError): void => {
    if (broken !== null) return;
    broken = fault;
    onBroken(fault);
  };
  const keep = (account: string, said: AddressMark): void => {
    const mark = farther(marks.get(account), said);
    place.append(lineOf(account, mark));
    marks.set(account, mark);
  };
  const pay = (): Error | null => {
    try {
      for (const [account, next] of owed) {
        if (next > (marks.get(account)?.next ?? 0)) keep(account, { next, ceiling: 0 });
        owed.delete(account);
      }
      return broken;
    } catch (error) {
      return error as Error;
    }
  };
  const sync = (): void => {
    if (isSyncing || waiting.length === 0) return;
    const served = waiting;
    waiting = [];
    const end = (error: Error | null): void => {
      isSyncing = false;
      for (const one of served) one(error);
      sync();
    };
    isSyncing = true;
    const unpaid = pay();
    if (unpaid !== null) {
      end(unpaid);
      return;
    }
    place.sync((fault) => {
      if (fault !== null) breakBy(fault);
      end(fault);
    });
  };
  const settled = (): Promise<void> => {
    if (owed.size === 0 && !isSyncing && waiting.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      waiting.push((error) => (error === null ? resolve() : reject(error)));
      sync();
    });
  };
  return {
    of: (account) => marks.get(account),
    raise(account, ceiling) {
      if (ceiling <= (marks.get(account)?.ceiling ?? 0)) return;
      if (broken !== null) throw broken;
      keep(account, { next: 0, ceiling });
      try {
        place.syncNow();
      } catch (fault) {
        breakBy(fault as AgentError);
        throw fault;
      }
    },
    note(account, next) {
      owed.set(account, Math.max(next, owed.get(account) ?? 0));
      return settled();
    },
    settled,
    close: () => place.close(),
  };
}

/** The marks of a gateway that gives out no address. */
export const noMarks: IssuedAddressMarks = makeAddressMarks(new Map(), {
  append: () => refuseMark(),
  syncNow: () => refuseMark(),
  sync: () => refuseMark(),
  close: () => {},
});

function refuseMark(): never {
  throw new Bug("a standby gives out no address");
}

/**
 * Replaces the file with these marks, in one step, and opens the new file. `onBroken` is called
 * once, after a sync that failed: then nobody knows what is on disk, and the process must end.
 * @throws AgentError GATEWAY_MARKS
 */
export function openMarks(
  path: string,
  marks: ReadonlyMap<string, AddressMark>,
  onBroken?: (fault: AgentError) => void,
): IssuedAddressMarks {
  try {
    writeAgain(
      path,
      `${heading}\n${[...marks].map(([account, mark]) => lineOf(account, mark)).join("")}`,
    );
    return makeAddressMarks(
      marks,
      fileAt(path, openSync(path, constants.O_WRONLY | constants.O_APPEND)),
      onBroken,
    );
  } catch (cause) {
    throw fault(path, cause);
  }
}

function writeAgain(path: string, text: string): void {
  const { O_WRONLY, O_CREAT, O_TRUNC, O_RDONLY, O_DIRECTORY } = constants;
  const unfinished = `${path}.tmp`;
  const file = openSync(unfinished, O_WRONLY | O_CREAT | O_TRUNC, 0o600);
  try {
    writeAll(file, text);
    fdatasyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(unfinished, path);
  const folder = openSync(dirname(path), O_RDONLY | O_DIRECTORY);
  try {
    fdatasyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

function writeAll(file: number, text: string): void {
  const bytes = Buffer.from(text, "latin1");
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}

function fileAt(path: string, file: number): Place {
  let isOpen = true;
  const guarded = (act: () => void): void => {
    try {
      act();
    } catch (cause) {
      throw fault(path, cause);
    }
  };
  return {
    append: (text) =>
      guarded(() => {
        const { size } = fstatSync(file);
        try {
          writeAll(file, text);
        } catch (cause) {
          // A full disk takes the beginning of a line, and the next line would end it wrongly.
          ftruncateSync(file, size);
          throw cause;
        }
      }),
    syncNow: () => guarded(() => fdatasyncSync(file)),
    sync: (done) => fdatasync(file, (error) => done(error === null ? null : fault(path, error))),
    close() {
      if (isOpen) closeSync(file);
      isOpen = false;
    },
  };
}

function fault(path: string, cause: unknown): AgentError {
  return new AgentError(
    "GATEWAY_MARKS",
    "none",
    `${path} cannot be used: ${reasonOf(cause)}`,
    { path },
    { cause },
  );
}
