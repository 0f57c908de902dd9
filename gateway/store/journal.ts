/**
 * The journal of money. Each final change of a balance is a move with two sides: accounts of this
 * gateway, or a side outside of it whose name begins with @. A move is never changed: a correction
 * is a move in the other direction. Each account has one row with the sum of all its moves, so that
 * its balance at the end of a late block is that sum without the moves since. Only this file writes
 * moves and accounts, each in the transaction of the fact. Source: docs/architecture.md section 8.
 */
import type { Statements as Database } from "./statements.ts";

/** Sides that are no accounts of this gateway. Nobody keeps sums of these. */
export type OutsideSide =
  | "@customers" // payers of deposit addresses
  | "@payees" // receivers of withdrawals
  | "@fees" // the chain
  | "@outside" // payers of a hot wallet, and the balance before the books of an account began
  | "@owner" // the owner of a key that no agent here has
  | "@note" // a difference that an operator accepted
  | "@earlier" // in place of an account whose opening has the move already
  | "@undone"; // the same, for a move that is taken back

/**
 * `withdraw`, `sweep` and `topup` are the amounts of what agents sign, `fee` what it cost. The
 * other kinds say why a balance is other than payments and these explain.
 */
export type MoveKind = "payment" | "withdraw" | "sweep" | "topup" | "fee" | AdjustingKind;
export type AdjustingKind = "opening" | "outside" | "owner" | "note";

/** A balance of an account in one currency. */
export interface AccountPlace {
  readonly network: string;
  readonly address: string;
  readonly currency: string;
}

/** Whose account it is: a merchant's hot wallet, or a deposit address. */
export interface AccountOwner {
  readonly merchant: string;
  readonly kind: "hot" | "deposit";
}

/** An account as a side of a move. */
export interface AccountSide extends AccountOwner {
  readonly address: string;
}

/** A move of units from one side to another at the end of a block. */
export interface Move {
  readonly kind: MoveKind;
  readonly network: string;
  readonly currency: string;
  readonly units: bigint; // above 0; of a note also 0: somebody accepted what went elsewhere
  readonly from: AccountSide | OutsideSide;
  readonly to: AccountSide | OutsideSide;
  readonly block: number;
}

/** When somebody made a move that adjusts a balance, and why. */
export interface MoveReason {
  readonly at: number; // Unix milliseconds
  readonly actor: string; // "" no operator
  readonly reason: string;
}

export interface MoveRow {
  readonly number: number; // order of posting
  readonly network: string;
  readonly currency: string;
  readonly units: string;
  readonly fromSide: string;
  readonly toSide: string;
  readonly kind: MoveKind;
  readonly block: number;
  readonly cause: string; // the fact that made it
  readonly part: number; // counts the moves of a cause
  readonly undoes: number | null; // the move that this one takes back
  readonly at: number | null;
  readonly actor: string | null;
  readonly reason: string | null;
}

export interface AccountRow extends AccountPlace, AccountOwner {
  readonly number: number; // a deposit address gets a new one, above all others, at each change
  readonly units: string; // negative if a fee was paid with coins whose arrival nobody saw
  readonly heldUnits: string; // units of open sweeps, and of coins below the cost of their sweep
  /** The last block before its books began: its balance there is known. Null without an opening. */
  readonly openedBlock: number | null;
}

const addressOf = (side: Move["from"]): string => (typeof side === "string" ? side : side.address);

export function readAccount(
  database: Database,
  { network, address, currency }: AccountPlace,
): AccountRow | undefined {
  return database.get<AccountRow>(
    "SELECT * FROM accounts WHERE address = ? AND network = ? AND currency = ?",
    ...[address, network, currency],
  );
}

/** The owner of a hot wallet with books on a network; undefined for every other address. */
export function hotWalletOwner(
  database: Database,
  network: string,
  address: string,
): AccountOwner | undefined {
  return database.get<AccountOwner>(
    "SELECT merchant, kind FROM accounts WHERE address = ? AND network = ? AND kind = 'hot' LIMIT 1",
    ...[address, network],
  );
}

/** True if the journal has an address on a network as a deposit address. */
export function isDepositAccount(database: Database, network: string, address: string): boolean {
  const sql =
    "SELECT 1 FROM accounts WHERE address = ? AND network = ? AND kind = 'deposit' LIMIT 1";
  return database.get(sql, address, network) !== undefined;
}

/** A change of an account's sums. */
interface AccountChange {
  readonly place: AccountPlace;
  readonly owner: AccountOwner;
  readonly units: bigint;
  readonly heldUnits: bigint;
}

/**
 * Changes of accounts that are written together, each account once. The table has the sums of
 * before until `flush`, which must run before the transaction ends.
 */
export class AccountChanges {
  readonly #changes = new Map<string, AccountChange>();
  readonly #opened = new Map<string, number | null>(); // block, of each account that was asked for

  /** The owner of a hot wallet that gets its first row by these changes. */
  hotWalletOwner(network: string, address: string): AccountOwner | undefined {
    const changed = [...this.#changes.values()].find(
      ({ place, owner }) =>
        owner.kind === "hot" && place.network === network && place.address === address,
    );
    return changed?.owner;
  }

  /** The block of an account's opening. */
  openedBlock(database: Database, place: AccountPlace): number | null {
    const name = nameOf(place);
    const known = this.#opened.get(name);
    if (known !== undefined) return known;
    const block = openedBlockOf(database, place);
    this.#opened.set(name, block);
    return block;
  }

  add(place: AccountPlace, owner: AccountOwner, units: bigint, heldUnits = 0n): void {
    const name = nameOf(place);
    const before = this.#changes.get(name);
    this.#changes.set(name, {
      place,
      owner,
      units: (before?.units ?? 0n) + units,
      heldUnits: (before?.heldUnits ?? 0n) + heldUnits,
    });
  }

  /** Harmless to call again. */
  flush(database: Database): void {
    for (const change of this.#changes.values()) changeAccount(database, change);
    this.#changes.clear();
  }
}

const nameOf = ({ network, address, currency }: AccountPlace): string =>
  `${network} ${address} ${currency}`;

/** The number of a new account, and of a deposit address whose sums changed. */
const nextAccountNumberSql = "(SELECT coalesce(max(number), 0) + 1 FROM accounts)";

/** Adds to an account's sums, and makes its row with the first change. */
function changeAccount(
  database: Database,
  { place, owner: { merchant, kind }, units, heldUnits }: AccountChange,
): void {
  const row = readAccount(database, place);
  const { network, address, currency } = place;
  // Also where the changes cancel out: between their blocks the account has a balance.
  if (row === undefined) {
    database.run(
      `INSERT INTO accounts (number, network, address, currency, merchant, kind, units, heldUnits)
       VALUES (${nextAccountNumberSql}, ?, ?, ?, ?, ?, ?, ?)`,
      ...[network, address, currency, merchant, kind, units.toString(), heldUnits.toString()],
    );
    return;
  }
  if (units === 0n && heldUnits === 0n) return;
  const number = row.kind === "hot" ? "" : `, number = ${nextAccountNumberSql}`;
  database.run(
    `UPDATE accounts SET units = ?, heldUnits = ?${number} WHERE number = ?`,
    (BigInt(row.units) + units).toString(),
    (BigInt(row.heldUnits) + heldUnits).toString(),
    row.number,
  );
}

/** Calls `act` with changes that are written at its end, unless `later` takes them. */
function changing<T>(
  database: Database,
  later: AccountChanges | undefined,
  act: (changes: AccountChanges) => T,
): T {
  const changes = later ?? new AccountChanges();
  const answer = act(changes);
  if (later === undefined) changes.flush(database);
  return answer;
}

/**
 * Makes these moves the ones that a fact stands for. Moves of the same cause that are posted stay;
 * others of the cause are taken back. So a second call with the same moves does nothing.
 * @param later takes the changes of accounts
 */
export function settleMoves(
  database: Database,
  cause: string,
  moves: readonly Move[],
  later?: AccountChanges,
): void {
  changing(database, later, (changes) => {
    const rows = database.all<MoveRow>("SELECT * FROM moves WHERE cause = ? ORDER BY part", cause);
    const undone = new Set(rows.map(({ undoes }) => undoes));
    const missing = [...moves];
    let part = rows.length;
    for (const row of rows) {
      if (row.undoes !== null || undone.has(row.number)) continue;
      const at = missing.findIndex((move) => isPosted(database, changes, move, row));
      if (at >= 0) missing.splice(at, 1);
      else {
        takeBack(database, changes, row, part);
        part += 1;
      }
    }
    postAll(database, changes, cause, part, missing);
  });
}

/** The currency in which the fee or the top-up of a cause stands in the journal. */
export function readPostedCoin(database: Database, cause: string): string | undefined {
  return database.get<Pick<MoveRow, "currency">>(
    `SELECT m.currency FROM moves m WHERE m.cause = ? AND m.kind IN ('fee','topup') AND m.undoes IS NULL
       AND NOT EXISTS (SELECT 1 FROM moves b WHERE b.cause = m.cause AND b.undoes = m.number) LIMIT 1`,
    cause,
  )?.currency;
}

/** Like `settleMoves`, for a cause that has no moves yet. Must not be called twice. */
export function postMoves(
  database: Database,
  cause: string,
  moves: readonly Move[],
  later?: AccountChanges,
): void {
  changing(database, later, (changes) => postAll(database, changes, cause, 0, moves));
}

/** Writes moves of a cause, the first as `part`. */
function postAll(
  database: Database,
  changes: AccountChanges,
  cause: string,
  part: number,
  moves: readonly Move[],
): void {
  let next = part;
  for (const move of moves) if (post(database, changes, cause, next, move)) next += 1;
}

/** True if a row is of this move, also where an opening has one of its sides already. */
function isPosted(database: Database, changes: AccountChanges, move: Move, row: MoveRow): boolean {
  const { kind, network, currency, units, from, to, block } = move;
  const isSide = (side: Move["from"], posted: string): boolean =>
    posted === addressOf(side) ||
    (posted === "@earlier" && sideOf(database, changes, move, side) === "@earlier");
  return (
    row.kind === kind &&
    row.network === network &&
    row.currency === currency &&
    row.units === units.toString() &&
    row.block === block &&
    isSide(from, row.fromSide) &&
    isSide(to, row.toSide)
  );
}

/** The kinds that the books and the watcher make themselves, knowing of the opening. */
const adjustingKinds: ReadonlySet<MoveKind> = new Set(["opening", "outside", "owner", "note"]);

/** A side of a move, or "@earlier" for an account whose opening has the move already. */
function sideOf(
  database: Database,
  changes: AccountChanges,
  { kind, network, currency, block }: Move,
  side: Move["from"],
): Move["from"] {
  if (typeof side === "string" || adjustingKinds.has(kind)) return side;
  const openedBlock = changes.openedBlock(database, { network, address: side.address, currency });
  return openedBlock !== null && block <= openedBlock ? "@earlier" : side;
}

/**
 * Writes a move and changes both accounts, but for one whose books began after its block.
 * @returns false if both began later, or both are one: there is nothing to write
 */
function post(
  database: Database,
  changes: AccountChanges,
  cause: string,
  part: number,
  move: Move,
  why: MoveReason | null = null,
): boolean {
  const { kind, network, currency, units, block } = move;
  const source = sideOf(database, changes, move, move.from);
  const target = sideOf(database, changes, move, move.to);
  if (addressOf(source) === addressOf(target)) return false;
  database.run(
    `INSERT INTO moves (network, currency, units, fromSide, toSide, kind, block, cause, part, at, actor, reason)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[network, currency, units.toString(), addressOf(source), addressOf(target), kind, block],
    ...[cause, part, why?.at ?? null, why?.actor ?? null, why?.reason ?? null],
  );
  for (const [side, change] of [
    [source, -units],
    [target, units],
  ] as const)
    if (typeof side !== "string")
      changes.add({ network, address: side.address, currency }, side, change);
  return true;
}

const openedBlockOf = (database: Database, place: AccountPlace): number | null =>
  readAccount(database, place)?.openedBlock ?? null;

/**
 * Writes the move in the other direction, at the same block, so that no balance shows either. An
 * account whose books began since keeps the balance that its opening found.
 */
function takeBack(
  database: Database,
  changes: AccountChanges,
  { number, network, currency, units, fromSide, toSide, kind, block, cause }: MoveRow,
  part: number,
): void {
  const sideAt = (address: string, otherwise: OutsideSide): AccountSide | OutsideSide => {
    if (isOutside(address)) return address;
    const account = readAccount(database, { network, address, currency });
    const openedBlock = account?.openedBlock ?? null;
    const isEarlier = openedBlock !== null && block <= openedBlock && !adjustingKinds.has(kind);
    return account === undefined || isEarlier ? otherwise : account;
  };
  const source = sideAt(toSide, "@undone");
  const target = sideAt(fromSide, toSide === "@earlier" ? "@undone" : "@earlier");
  database.run(
    `INSERT INTO moves (network, currency, units, fromSide, toSide, kind, block, cause, part, undoes)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[network, currency, units, addressOf(source), addressOf(target), kind, block],
    ...[cause, part, number],
  );
  for (const [side, change] of [
    [source, -BigInt(units)],
    [target, BigInt(units)],
  ] as const)
    if (typeof side !== "string")
      changes.add({ network, address: side.address, currency }, side, change);
}

const isOutside = (side: string): side is OutsideSide => side.startsWith("@");

/** Holds units of an account, or with a minus releases them. Must not be called twice. */
export function holdUnits(
  database: Database,
  place: AccountPlace,
  owner: AccountOwner,
  heldUnits: bigint,
): void {
  changeAccount(database, { place, owner, units: 0n, heldUnits });
}

/**
 * Adds a payment that is a part of a sum (stray-sums.ts): the sum is its move. `isHeld`: no sweep
 * takes it. Must not be called twice.
 */
export function addSumPartToAccount(
  database: Database,
  place: AccountPlace & { readonly block: number },
  owner: AccountOwner,
  units: bigint,
  isHeld: boolean,
): void {
  const openedBlock = openedBlockOf(database, place);
  if (openedBlock !== null && place.block <= openedBlock) return;
  changeAccount(database, { place, owner, units, heldUnits: isHeld ? units : 0n });
}

/** A balance that was found at the end of a block. */
export interface FoundBalance {
  readonly units: bigint;
  readonly block: number;
}

/**
 * Begins the books of an account with a balance that was found: the rest that no move explains is
 * a move of its own, and later moves of blocks up to this one change the account no more. A second
 * opening changes nothing, and a deposit address has none: its baseline takes that place.
 */
export function openAccount(
  database: Database,
  place: AccountPlace,
  owner: AccountOwner,
  { units, block }: FoundBalance,
  why: MoveReason,
): void {
  const known = readAccount(database, place);
  if (known !== undefined && (known.openedBlock !== null || known.kind === "deposit")) return;
  const { network, address, currency } = place;
  // The opening has these sums too: from now on the account counts the later ones alone.
  const summed = summedUnits(database, place, block);
  const rest = units - unitsAt(database, place, block) + summed;
  changeAccount(database, { place, owner, units: -summed, heldUnits: 0n });
  adjustAccount(database, { ...place, kind: "opening", block }, owner, rest, why);
  database.run(
    `INSERT INTO accounts (number, network, address, currency, merchant, kind, units, heldUnits, openedBlock)
     VALUES (${nextAccountNumberSql}, ?, ?, ?, ?, ?, '0', '0', ?)
     ON CONFLICT (address, network, currency) DO UPDATE SET openedBlock = excluded.openedBlock`,
    ...[network, address, currency, owner.merchant, owner.kind, block],
  );
}

/** The units of the sums of an account that end up to a block. */
function summedUnits(
  database: Database,
  { network, address, currency }: AccountPlace,
  block: number,
): bigint {
  const sql =
    "SELECT units FROM straySums WHERE network = ? AND account = ? AND currency = ? AND toBlock <= ?";
  return database
    .all<{ units: string }>(sql, network, address, currency, block)
    .reduce((sum, { units }) => sum + BigInt(units), 0n);
}

const adjustingSides = {
  opening: "@outside",
  outside: "@outside",
  owner: "@owner",
  note: "@note",
} as const satisfies Readonly<Record<AdjustingKind, OutsideSide>>;

/**
 * Posts a change of a balance that no payment and no transfer makes; negative: the balance is
 * lower. The same change again is a further move, and a note of nothing is one too. Must not be
 * called twice.
 */
export function adjustAccount(
  database: Database,
  {
    kind,
    block,
    ...place
  }: AccountPlace & { readonly kind: AdjustingKind; readonly block: number },
  owner: AccountOwner,
  units: bigint,
  why: MoveReason | null,
): void {
  if (units === 0n && kind !== "note") return;
  const { network, address, currency } = place;
  const account = { ...owner, address };
  const side = adjustingSides[kind];
  const [from, to] = units > 0n ? [side, account] : [account, side];
  const cause = `${kind}:${network}:${address}:${currency}`;
  const next = database.get<{ n: number }>(
    "SELECT count(*) AS n FROM moves WHERE cause = ?",
    cause,
  );
  const move = { kind, network, currency, units: units > 0n ? units : -units, from, to, block };
  changing(database, undefined, (changes) =>
    post(database, changes, cause, next?.n ?? 0, move, why),
  );
}

/** The moves of one kind that adjusted an account, oldest first. */
export function listAdjustmentsOf(
  database: Database,
  { network, address, currency }: AccountPlace,
  kind: AdjustingKind,
): readonly { readonly block: number; readonly units: bigint }[] {
  const cause = `${kind}:${network}:${address}:${currency}`;
  const sql = "SELECT block, units, toSide FROM moves WHERE cause = ? ORDER BY part";
  return database
    .all<Pick<MoveRow, "block" | "units" | "toSide">>(sql, cause)
    .map(({ block, units, toSide }) => ({
      block,
      units: toSide === address ? BigInt(units) : -BigInt(units),
    }));
}

/** The terms of the two partial indexes of moves by side. */
const outOfSql = "substr(fromSide, 1, 1) <> '@' AND fromSide";
const intoSql = "substr(toSide, 1, 1) <> '@' AND toSide";

/**
 * The balance of an account at the end of a block: the sum of its moves, without those of later
 * blocks. Zero before its books began. Reads as many rows as moves came since.
 */
export function unitsAt(database: Database, place: AccountPlace, block: number): bigint {
  const { network, address, currency } = place;
  // One statement, because another process may post between two.
  const account = database.get<Pick<AccountRow, "units" | "openedBlock"> & { since: string }>(
    `SELECT a.units, a.openedBlock, (SELECT json_group_array(u) FROM (
         SELECT units AS u FROM moves WHERE ${intoSql} = ?1 AND network = ?2 AND block > ?4 AND currency = ?3
         UNION ALL SELECT '-' || units FROM moves WHERE ${outOfSql} = ?1 AND network = ?2 AND block > ?4 AND currency = ?3
         UNION ALL SELECT units FROM straySums WHERE account = ?1 AND network = ?2 AND currency = ?3 AND toBlock > ?4)) AS since
       FROM accounts a WHERE a.address = ?1 AND a.network = ?2 AND a.currency = ?3`,
    ...[address, network, currency, block],
  );
  if (account === undefined) return 0n;
  if (account.openedBlock !== null && block < account.openedBlock) return 0n;
  const since = JSON.parse(account.since) as readonly string[];
  return since.reduce((sum, units) => sum - BigInt(units), BigInt(account.units));
}

/** A move of one of several accounts; `address` is the account that was asked for. */
export interface AccountMove
  extends Pick<MoveRow, "kind" | "currency" | "block" | "number" | "cause" | "undoes"> {
  readonly address: string;
  readonly farSide: string; // the other account's address, or an `OutsideSide`
  readonly units: bigint; // negative: out of the account
  /** True if the account is the one that pays; a move that was taken back has the same payer. */
  readonly isPayer: boolean;
  readonly why: MoveReason | null; // of a move that adjusts a balance
}

/** The sums of an account, with the newest move that they have and its sums of payments. */
export interface AccountAtMove extends AccountRow {
  readonly posted: number; // number of the newest move of all accounts; 0 before the first
  readonly sums: string; // JSON: units and newest block of each sum in later blocks
}

/** The accounts of some addresses on a network as they are at one moment. */
export function listAccountsAtMove(
  database: Database,
  network: string,
  addresses: readonly string[],
  block: number,
): readonly AccountAtMove[] {
  return database.all<AccountAtMove>(
    `SELECT c.*, (SELECT coalesce(max(number), 0) FROM moves) AS posted,
       (SELECT json_group_array(json_array(s.units, s.toBlock)) FROM straySums s
         WHERE s.account = c.address AND s.network = c.network AND s.currency = c.currency AND s.toBlock > ?3) AS sums
     FROM json_each(?1) AS a CROSS JOIN accounts c ON c.address = a.value WHERE c.network = ?2`,
    ...[JSON.stringify(addresses), network, block],
  );
}

/** A position in the moves of accounts. */
export interface MovePlace {
  readonly block: number;
  readonly number: number;
}

/**
 * The next moves of an account in one direction, after a place, in the order of blocks, at most
 * `most`.
 */
export function listMovesAfter(
  database: Database,
  network: string,
  address: string,
  direction: "in" | "out",
  { block, number }: MovePlace,
  most: number,
): readonly AccountMove[] {
  const ofSql = direction === "in" ? intoSql : outOfSql;
  const rows = database.all<MoveRow>(
    `SELECT * FROM moves WHERE ${ofSql} = ? AND network = ? AND (block, number) > (?, ?)
     ORDER BY block, number LIMIT ?`,
    ...[address, network, block, number, most],
  );
  return rows.map((row) => moveOf(address, direction, row));
}

/** The number of the newest move of all accounts; 0 before the first. */
export function newestMoveNumber(database: Database): number {
  return (
    database.get<{ number: number }>("SELECT coalesce(max(number), 0) AS number FROM moves")
      ?.number ?? 0
  );
}

/** True if a move numbered above `after` changes a merchant's account in a block up to `block`. */
export function hasMovesSince(
  database: Database,
  { network, merchant }: Pick<AccountPlace, "network"> & Pick<AccountOwner, "merchant">,
  { block, after }: { readonly block: number; readonly after: number },
): boolean {
  const sql = `SELECT 1 FROM moves m WHERE m.number > ? AND m.network = ? AND m.block <= ? AND EXISTS (
      SELECT 1 FROM accounts a WHERE a.address IN (m.fromSide, m.toSide) AND a.network = m.network AND a.merchant = ?) LIMIT 1`;
  return database.get(sql, after, network, block, merchant) !== undefined;
}

/** The moves of some accounts in blocks above `block`. */
export function listMovesOfMany(
  database: Database,
  network: string,
  addresses: readonly string[],
  block: number,
): readonly AccountMove[] {
  const list = JSON.stringify(addresses);
  const movesOf = (direction: "in" | "out"): readonly AccountMove[] => {
    const [ofSql, side] =
      direction === "in" ? ([intoSql, "toSide"] as const) : ([outOfSql, "fromSide"] as const);
    const rows = database.all<MoveRow>(
      `SELECT m.* FROM json_each(?) AS a CROSS JOIN moves m ON ${ofSql} = a.value WHERE m.network = ? AND m.block > ?`,
      ...[list, network, block],
    );
    return rows.map((row) => moveOf(row[side], direction, row));
  };
  return [...movesOf("in"), ...movesOf("out")];
}

function moveOf(address: string, direction: "in" | "out", row: MoveRow): AccountMove {
  const { kind, currency, block, number, cause, undoes, at, actor, reason } = row;
  const units = BigInt(row.units);
  return {
    address,
    farSide: direction === "in" ? row.fromSide : row.toSide,
    kind,
    currency,
    block,
    number,
    cause,
    undoes,
    why: at === null ? null : { at, actor: actor ?? "", reason: reason ?? "" },
    units: direction === "in" ? units : -units,
    isPayer: (direction === "out") !== (row.undoes !== null),
  };
}

/** The units on a deposit address that no open sweep takes. Negative after an unseen payment. */
export function unsweptUnitsOf({
  units,
  heldUnits,
}: Pick<AccountRow, "units" | "heldUnits">): bigint {
  return BigInt(units) - BigInt(heldUnits);
}

/** An address's unswept balance in one currency. */
export function unsweptBalanceOf(
  database: Database,
  address: string,
  network: string,
  currency: string,
): bigint {
  const account = readAccount(database, { network, address, currency });
  return account === undefined ? 0n : unsweptUnitsOf(account);
}

/** The terms of the partial indexes of deposit addresses with an unswept balance. */
export const hasUnsweptSql = "kind = 'deposit' AND units <> heldUnits";

/** The unswept balance of all of a merchant's addresses in one currency. */
export function sumUnsweptUnits(database: Database, merchant: string, currency: string): bigint {
  const sql = `SELECT units, heldUnits FROM accounts WHERE ${hasUnsweptSql} AND merchant = ? AND currency = ?`;
  return database
    .all<Pick<AccountRow, "units" | "heldUnits">>(sql, merchant, currency)
    .map(unsweptUnitsOf)
    .reduce((sum, units) => sum + (units > 0n ? units : 0n), 0n);
}

/**
 * The units of these kinds that came to an account ("in"), or that it paid ("out"), in blocks above
 * `block`: a balance read at that block does not show them.
 */
export function unitsMovedAfter(
  database: Database,
  direction: "in" | "out",
  { network, address, currency }: AccountPlace,
  block: number,
  kinds: readonly MoveKind[],
): bigint {
  const [ofSql, backSql] = direction === "in" ? [intoSql, outOfSql] : [outOfSql, intoSql];
  const rows = database.all<Pick<MoveRow, "kind" | "units">>(
    `SELECT kind, units FROM moves WHERE ${ofSql} = ?1 AND network = ?2 AND block > ?4 AND currency = ?3 AND undoes IS NULL
     UNION ALL SELECT kind, '-' || units FROM moves
       WHERE ${backSql} = ?1 AND network = ?2 AND block > ?4 AND currency = ?3 AND undoes IS NOT NULL`,
    ...[address, network, currency, block],
  );
  return rows.reduce(
    (sum, { kind, units }) => (kinds.includes(kind) ? sum + BigInt(units) : sum),
    0n,
  );
}
