/**
 * The journal's tables as they stand: the rows of each account as a text, so that a figure is
 * counted again only where a row has changed, and what the tables contradict among themselves.
 */
import type { AccountRow, MoveRow } from "../../gateway/store/journal.ts";
import type { Database } from "../../gateway/store/store.ts";
import type { StraySumRow } from "../../gateway/store/stray-sums.ts";
import { sorted, textOfFigures, textOfPlace } from "./figures.ts";

type Sums = Map<string, bigint>;

function add(sums: Sums, name: string, units: bigint): void {
  sums.set(name, (sums.get(name) ?? 0n) + units);
}

function append(texts: Map<string, string>, name: string, text: string): void {
  texts.set(name, `${texts.get(name) ?? ""}${text};`);
}

const nothing: Partial<AccountRow> = {};
const isFar = (side: string): boolean => side.startsWith("@");

/** Moves from before an opening are on one side with the opening, whenever they come to light. */
const farSideOf = (side: string): string =>
  side === "@earlier" || side === "@undone" ? "@outside" : side;

export class Tables {
  accounts: ReadonlyMap<string, AccountRow> = new Map(); // by account
  #newest = 0; // number of the newest move
  readonly #moveTexts = new Map<string, string>(); // by account
  readonly #moved: Sums = new Map(); // by account
  readonly #far = new Map<string, Sums>(); // by network and currency, and then by side
  readonly #standing: Sums = new Map(); // by network, currency and kind
  readonly #standingMoves = new Map<number, MoveRow>();
  #sumTexts = new Map<string, string>();
  #merchantTexts = new Map<string, string>();
  #sums: readonly StraySumRow[] = [];
  #sweeps: readonly HeldRow[] = [];

  /** Has every row read again. */
  forget(): void {
    this.#newest = 0;
    for (const kept of [this.#moveTexts, this.#moved, this.#far]) kept.clear();
    this.#standing.clear();
    this.#standingMoves.clear();
  }

  /** Reads new moves, which are never changed, and all rows of the other tables. */
  read(database: Database): void {
    const sql = "SELECT * FROM moves WHERE number > ? ORDER BY number";
    for (const move of database.all<MoveRow>(sql, this.#newest)) this.#addMove(move);
    const accounts = database.all<AccountRow>("SELECT * FROM accounts");
    this.accounts = new Map(accounts.map((row) => [textOfPlace(row), row]));
    this.#sums = database.all<StraySumRow>("SELECT * FROM straySums");
    this.#sweeps = database.all<HeldRow>(
      `SELECT network, payer AS address, currency, units FROM transfers
       WHERE operation = 'sweep' AND status = 0`,
    );
    this.#sumTexts = new Map();
    for (const { account: address, ...row } of this.#sums) {
      const text = `${row.fromBlock} ${row.toBlock} ${row.units}`;
      append(this.#sumTexts, textOfPlace({ ...row, address }), text);
    }
    this.#merchantTexts = new Map();
    for (const [name, { network, merchant }] of this.accounts)
      append(this.#merchantTexts, `${network} ${merchant}`, this.rowsOf(name));
  }

  #addMove(move: MoveRow): void {
    const { number, network, currency, fromSide, toSide, block, undoes } = move;
    this.#newest = number;
    const units = BigInt(move.units);
    const text = `${number} ${block} ${move.units} ${move.cause}`;
    for (const [side, by] of [
      [fromSide, -units],
      [toSide, units],
    ] as const)
      if (isFar(side)) this.#addFar(network, currency, side, by);
      else {
        const name = textOfPlace({ network, address: side, currency });
        append(this.#moveTexts, name, text);
        add(this.#moved, name, by);
      }
    if (undoes === null) {
      this.#standingMoves.set(number, move);
      this.#stand(move, 1n);
    } else {
      const undone = this.#standingMoves.get(undoes);
      this.#standingMoves.delete(undoes);
      if (undone !== undefined) this.#stand(undone, -1n);
    }
  }

  #addFar(network: string, currency: string, side: string, by: bigint): void {
    const name = `${network} ${currency}`;
    const sums = this.#far.get(name) ?? new Map<string, bigint>();
    this.#far.set(name, sums);
    add(sums, farSideOf(side), by);
  }

  /** The units of moves that take nothing back and that nothing took back. */
  #stand({ network, currency, kind, units }: MoveRow, sign: bigint): void {
    if (kind !== "withdraw" && kind !== "opening")
      add(this.#standing, `standing ${network} ${currency} ${kind}`, sign * BigInt(units));
  }

  /** The rows of an account as one text. */
  rowsOf(name: string): string {
    const row = this.accounts.get(name);
    const { units, heldUnits, openedBlock, merchant, kind } = row ?? nothing;
    const sums = `${units} ${heldUnits} ${openedBlock} ${merchant} ${kind}`;
    return `${sums}:${this.#moveTexts.get(name) ?? ""}:${this.#sumTexts.get(name) ?? ""}`;
  }

  /** The rows of all accounts of a merchant on a network as one text. */
  rowsOfMerchant(network: string, merchant: string): string {
    return this.#merchantTexts.get(`${network} ${merchant}`) ?? "";
  }

  /** Adds the sums of the far sides and of the moves that stand, and the contradictions. */
  addSums(figures: Map<string, string>): void {
    for (const [name, units] of this.#standing)
      if (units !== 0n) figures.set(name, textOfFigures({ units }));
    const far = new Map([...this.#far].map(([name, sums]) => [name, new Map(sums)]));
    const moved = new Map(this.#moved);
    const held: Sums = new Map();
    for (const { network, account: address, currency, units, toBlock, kind } of this.#sums) {
      const name = textOfPlace({ network, address, currency });
      const isEarlier = toBlock <= (this.accounts.get(name)?.openedBlock ?? -1);
      const sums = far.get(`${network} ${currency}`) ?? new Map<string, bigint>();
      far.set(`${network} ${currency}`, sums);
      add(sums, "@customers", -BigInt(units));
      if (isEarlier) add(sums, "@outside", BigInt(units));
      else add(moved, name, BigInt(units));
      if (kind === "dust" && network.startsWith("bip122:")) add(held, name, BigInt(units));
    }
    for (const row of this.#sweeps) add(held, textOfPlace(row), BigInt(row.units));
    for (const [name, sums] of far) {
      const text = textOfFigures(sorted(sums));
      if (text !== "") figures.set(`sides ${name}`, text);
    }
    this.#addContradictions(figures, far, moved, held);
  }

  /**
   * The accounts and the far sides of a currency are nothing together, an account has the sum of
   * its moves, and it holds what open sweeps and dust take.
   */
  #addContradictions(
    figures: Map<string, string>,
    far: ReadonlyMap<string, Sums>,
    moved: Sums,
    held: Sums,
  ): void {
    const balanced: Sums = new Map();
    for (const [name, sums] of far) for (const units of sums.values()) add(balanced, name, units);
    for (const [name, row] of this.accounts) {
      const { network, currency, units, heldUnits } = row;
      add(balanced, `${network} ${currency}`, BigInt(units));
      add(moved, name, -BigInt(units));
      add(held, name, -BigInt(heldUnits));
    }
    for (const [sums, words] of [
      [balanced, "is not balanced"],
      [moved, "has other moves"],
      [held, "holds otherwise"],
    ] as const)
      for (const [name, units] of sums)
        if (units !== 0n) figures.set(`${name} ${words}`, ` by ${units}`);
  }
}

interface HeldRow {
  readonly network: string;
  readonly address: string;
  readonly currency: string;
  readonly units: string;
}
