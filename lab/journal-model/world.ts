/**
 * The gateway's side of the histories: its own database, its own functions that write facts, and
 * its figures under the names of figures.ts. The database is in memory, and a history is one
 * transaction with a savepoint before each fact: the next history begins where it is taken back,
 * and the database of before any fact is one statement away.
 */
import { DatabaseSync } from "@photostructure/sqlite";
import { familyOf } from "../../chains/families.ts";
import { payeeOf } from "../../chains/payees.ts";
import { balanceOf } from "../../gateway/balance/balance.ts";
import { type PeriodLine, sumPeriod } from "../../gateway/books/period.ts";
import type { GatewayConfig, GatewayCurrency } from "../../gateway/config/config.ts";
import {
  explainedUnits,
  keepBaseline,
  keepTakenByOwner,
} from "../../gateway/store/address-states.ts";
import { insertAssigned, readAssignedPayment } from "../../gateway/store/assigned-payments.ts";
import { keepBalance } from "../../gateway/store/balances.ts";
import { addBookEntry } from "../../gateway/store/books.ts";
import { moveToGonePayments, takeBackGonePayment } from "../../gateway/store/gone-payments.ts";
import {
  type AccountRow,
  listAdjustmentsOf,
  readAccount,
  unitsAt,
} from "../../gateway/store/journal.ts";
import { keepMovedAttempt } from "../../gateway/store/moved-payments.ts";
import {
  keepFinalPayment,
  listFinalInOtherBlock,
  listFinalOf,
  readPayment,
} from "../../gateway/store/payments.ts";
import { keepNativeCoins } from "../../gateway/store/posting.ts";
import { correctReservedSums, listReservedSums } from "../../gateway/store/reserved.ts";
import type { PaymentRow } from "../../gateway/store/rows.ts";
import { schema } from "../../gateway/store/schema.ts";
import { insertSignature } from "../../gateway/store/signatures.ts";
import { type Database, type Store, storeOver } from "../../gateway/store/store.ts";
import { addToSum, beginNewStraySums } from "../../gateway/store/stray-sums.ts";
import type { NewWithdrawal } from "../../gateway/store/transaction-rows.ts";
import { readTransfer } from "../../gateway/store/transactions.ts";
import {
  completeAssigned,
  endWithdrawal,
  insertPendingTransfer,
  insertWithdrawal,
  LaterSums,
  replaceOrderContent,
  updateWithdrawal,
  type WithdrawalEnd,
} from "../../gateway/store/withdrawals.ts";
import { formatAmount } from "../../protocol/amount.ts";
import { giveAddress, pairAgent, silentLog } from "../kit/gateway-database.ts";
import type { ContentFact, EndFact, Fact, OrderFact, PaymentFact, Place, Wallet } from "./fact.ts";
import {
  type Cast,
  castOn,
  type Figures,
  type Look,
  type LookPeriod,
  type PlayingCast,
  sorted,
  textOfAccount,
  textOfFigures,
} from "./figures.ts";
import { Tables } from "./tables.ts";

export const evm = "eip155:31337";
export const coins = "bip122:0f9188f13cb7b2c71f2a335e3a4fc328";
export const tags = "xrpl:0";
const token = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
const merchants = ["m1", "m-b"] as const;
const hotOf: Readonly<Record<string, readonly [string, string]>> = {
  [evm]: [
    "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
    "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
  ],
  [coins]: ["hot wallet of coins 1", "hot wallet of coins 2"],
  [tags]: ["rHsMGQEkVNJmpGWs8XUBoTBiAAbwxZN5v3", "rPT1Sjq2YGrBMTttX4GZHjKu9dyfzbpAYe"],
};

/** Units of the coin, of which each currency has others. */
const maxFeeOf = (currency: string): bigint => ({ eth: 5n, usdt: 7n, btc: 3n })[currency] ?? 2n;

const fixed = { decimal: 0, preset: "", symbol: "" } as const;
const configured = [
  { id: "eth", network: evm, contract: "", ...fixed },
  { id: "usdt", network: evm, contract: token, ...fixed },
  { id: "btc", network: coins, contract: "", ...fixed },
  { id: "xrp", network: tags, contract: "", ...fixed },
] as unknown as readonly GatewayCurrency[];

/** The currencies of each agent. */
const paired = JSON.stringify(
  configured.map(({ id, network, contract }) => ({
    ...{ id, network, contract },
    maxFee: formatAmount(maxFeeOf(id), familyOf(network).fees.decimal),
  })),
);

/** A deposit address, with the request that has it. */
interface Deposit {
  readonly request: string;
  readonly network: string;
  readonly address: string; // with its tag
  readonly account: string;
  readonly merchant: string;
}

const config = {
  currencies: Object.fromEntries(configured.map((one) => [one.id, one])),
} as unknown as GatewayConfig;

/** The rows that a hot wallet's promises and balances count beside the journal, as one text. */
function readOthers(database: Database, { network, merchant, address }: Wallet): string {
  const rows = database.get<{ readonly text: string }>(
    `SELECT (SELECT json_group_array(json_array(id, status, units, currency, payer, receiver))
         FROM transfers WHERE network = ?1 AND merchant = ?2)
       || (SELECT json_group_array(json_array(account, currency, withdrawals, units))
         FROM reserved WHERE account = ?3)
       || (SELECT json_group_array(json_array(account, currency, units, block))
         FROM balances WHERE account = ?3)
       || (SELECT json_group_array(json_array(address, currency))
         FROM gonePayments WHERE network = ?1) AS text`,
    ...[network, merchant, address],
  );
  return rows?.text ?? "";
}

/** A text of figures, and the rows that it was counted from. */
interface KnownFigures {
  readonly rows: string;
  readonly text: string;
}

const idOf = (number: number): string => number.toString(16).padStart(32, "0");
const payeeAccount = ({ network, address }: Pick<Deposit, "network" | "address">): string =>
  payeeOf(network, address).address;

/** On a chain with tags an address has no account of its own. */
export const deposits: readonly Deposit[] = merchants.flatMap((merchant, of) =>
  [evm, coins, tags].flatMap((network, at) =>
    [0, 1].slice(0, network === coins ? 1 : 2).map((n): Deposit => {
      const hot = (hotOf[network] as readonly [string, string])[of] as string;
      const number = 1 + of * 8 + at * 2 + n;
      const address =
        network === tags
          ? familyOf(network).depositAddress(hot, number)
          : `deposit address ${number}`;
      const place = { network, address };
      return { request: idOf(number), ...place, account: payeeAccount(place), merchant };
    }),
  ),
);

const hotWallets: readonly Wallet[] = Object.entries(hotOf).flatMap(([network, addresses]) =>
  addresses.map((address, at) => ({
    ...{ network, address, merchant: merchants[at] as string, kind: "hot" as const },
  })),
);

export const cast: Cast = {
  wallets: [
    ...hotWallets,
    ...deposits
      .filter(({ network }) => network !== tags)
      .map(({ network, address, merchant }) => ({
        ...{ network, address, merchant, kind: "deposit" as const },
      })),
  ],
  currencies: configured.map(({ id, network, contract }) => ({
    ...{ id, network, isCoin: contract === "", maxFee: maxFeeOf(id) },
  })),
};

/** A gateway's database with two merchants, their agents and their deposit addresses. */
export class GatewayWorld {
  readonly #raw = new DatabaseSync(":memory:", { enableForeignKeyConstraints: true });
  readonly #known = new Map<string, KnownFigures>(); // by account, promise and balance
  readonly #tables = new Tables();
  #store: Store;
  #made = 0;
  #taken = 0;

  constructor() {
    this.#raw.exec(schema);
    this.#store = this.#open();
    this.#database.run("INSERT INTO merchants (id, name, createdAt) VALUES ('m1', 'Shop', 0)");
    for (const [at, merchant] of merchants.entries()) {
      const { id } = pairAgent(this.#store, ["a", "b"][at] as string);
      const accounts = Object.entries(hotOf).map(([network, addresses]) => ({
        family: familyOf(network).addressSpace.name,
        purpose: "hot",
        id: addresses[at],
        firstAddress: addresses[at],
      }));
      this.#database.run(
        "UPDATE agents SET accounts = ?, networks = ?, currencies = ? WHERE id = ?",
        ...[JSON.stringify(accounts), JSON.stringify(Object.keys(hotOf)), paired, id],
      );
      for (const one of deposits.filter((deposit) => deposit.merchant === merchant))
        this.#give(one, id);
    }
    this.#raw.exec("BEGIN");
  }

  #open(): Store {
    return storeOver(this.#raw, ":memory:", silentLog);
  }

  #give({ request, network, address, account, merchant }: Deposit, agent: string): void {
    const payTo = account;
    const row = { id: request, address, place: Number.parseInt(request, 16), agent };
    giveAddress(this.#store, row, { merchant, network, payTo, currency: "eth" });
  }

  get #database(): Database {
    return this.#store.database;
  }

  close(): void {
    this.#raw.close();
  }

  /** Begins a new history. */
  clear(): void {
    this.#raw.exec("ROLLBACK; BEGIN");
    this.#forget();
    this.#made = 0;
    this.#taken = 0;
  }

  /** As a start does: nothing that the process kept stays. */
  restart(): void {
    this.#store = this.#open();
    correctReservedSums(this.#database);
  }

  /** Goes back to the state before the newest acts. */
  restore(acts: number): void {
    this.#taken -= acts;
    this.#raw.exec(`ROLLBACK TO act${this.#taken}; RELEASE act${this.#taken}`);
    this.#forget();
  }

  /** Writes a fact with the function of the gateway that writes it. */
  take(fact: Fact): void {
    this.#database.run(`SAVEPOINT act${this.#taken}`);
    this.#taken += 1;
    this.#write(this.#database, fact);
  }

  #write(database: Database, fact: Fact): void {
    switch (fact.fact) {
      case "payment":
        keepPayment(database, fact);
        break;
      case "lost": {
        const paid = readPayment(database, fact);
        if (paid !== undefined) moveToGonePayments(database, paid, 1);
        break;
      }
      case "small":
        addToSum(database, {
          ...{ network: fact.network, account: fact.account, currency: fact.currency },
          ...{ kind: fact.kind, transactionId: fact.request, txHash: "small", block: fact.block },
          ...{ units: fact.units, end: fact.end, merchant: merchantOf(fact.network, fact.account) },
        });
        break;
      case "compared":
        beginNewStraySums(database, fact.network, fact.block);
        break;
      case "coin":
        keepNativeCoins(database, new Map([[fact.network, fact.currency]]));
        break;
      case "order":
        this.#order(database, fact);
        break;
      case "content":
        replaceContent(database, fact);
        break;
      case "receiver":
        updateWithdrawal(database, fact.id, { stage: "signed", receiver: fact.receiver }, 2);
        break;
      case "status": {
        const { status } = fact;
        updateWithdrawal(
          database,
          fact.id,
          { status, stage: status === 0 ? "queued" : "expired" },
          2,
        );
        break;
      }
      case "end":
        end(database, fact);
        break;
      case "ends": {
        const later = new LaterSums();
        for (const one of fact.ends) end(database, one, later);
        later.flush(database);
        break;
      }
      case "assigned": {
        const { id: transactionId, fee, block } = fact;
        const row = {
          transactionId,
          network: evm,
          account: "",
          txHash: transactionId,
          block,
          at: 2,
        };
        const assigned = { ...row, feeUnits: `${fee}` };
        if (readAssignedPayment(database, transactionId) === undefined)
          insertAssigned(database, assigned);
        completeAssigned(database, assigned, 2);
        break;
      }
      case "own":
        this.#sign(database, fact.id, fact.txHash);
        break;
      default:
        this.#adjust(database, fact);
        break;
    }
  }

  #order(database: Database, order: OrderFact): void {
    const { id, kind, merchant, network, currency, payer, receiver, sweep } = order;
    const row = {
      ...{ id, merchant, network, currency, amount: "1", units: `${order.units}`, payer },
      ...{ contentHash: "00", tag: "", stage: "queued", createdAt: 1, changedAt: 1 },
      expiresAt: 10_000_000,
    };
    this.#made += 1;
    const internal = { ...row, receiver: receiver ?? "", addressIndex: 1 };
    const nextSlot = "";
    if (kind === "sweep") {
      const orderId = `${payer}/${this.#made}`;
      insertPendingTransfer(database, { ...internal, operation: kind, orderId, nextSlot });
    } else if (kind === "topup")
      insertPendingTransfer(database, { ...internal, operation: kind, orderId: sweep });
    else this.#orderWithdrawal(database, { ...row, operation: kind, receiver });
  }

  #orderWithdrawal(
    database: Database,
    row: Omit<NewWithdrawal, "mode" | "orderId" | "renews" | "refundOf" | "metadata">,
  ): void {
    const { id, payer, network } = row;
    const record = { orderId: `w-${id}`, renews: "", refundOf: "", metadata: "" };
    const withdrawal = { ...row, ...record, mode: "auto" } as const;
    // The shop's orders know the sums of the account, and those of a recovery do not.
    if (this.#made % 3 === 0) insertPendingTransfer(database, withdrawal);
    else if (this.#made % 3 === 1) insertWithdrawal(database, withdrawal);
    else insertWithdrawal(database, withdrawal, listReservedSums(database, payer, network));
  }

  #sign(database: Database, id: string, txHash: string): void {
    const network = networkOf(database, id);
    insertSignature(database, {
      ...{ transactionId: id, attempt: 1, agent: "a".repeat(16), network, account: "hot" },
      ...{ slot: id, txHash, feeMax: "1", seq: 1, validUntilMs: 0, pin: "", cancel: 0 },
    });
  }

  #adjust(
    database: Database,
    fact: Extract<Fact, { fact: "opening" | "baseline" | "adjustment" | "reading" }>,
  ): void {
    const { network, address, currency } = fact;
    const place = { network, address, currency };
    if (fact.fact === "baseline") {
      keepBaseline(database, place, fact.units);
      return;
    }
    const { units, block } = fact;
    if (fact.fact === "reading")
      keepBalance(database, { account: address, currency, units: `${units}`, block, at: 1 });
    else if (fact.fact === "adjustment" && fact.kind === "owner")
      keepTakenByOwner(database, place, -units, block);
    else {
      const kind = fact.fact === "opening" ? fact.fact : fact.kind;
      const { merchant, kind: of } = walletOf(place);
      const owner = { merchant, kind: of };
      const entry = { ...place, kind, units: `${units}`, block, at: 1, operator: "", reason: "" };
      addBookEntry(database, { ...entry, owner });
    }
  }

  /** The gateway's figures, and what its own tables contradict. */
  async figures(look: Look): Promise<Figures> {
    const figures = new Map<string, string>();
    const playing = castOn(cast, look.networks);
    if (look.isLast) this.#forget();
    this.#tables.read(this.#database);
    this.#addAccounts(figures, playing, look.blocks);
    const hot = playing.wallets.filter(({ kind }) => kind === "hot");
    const promising = hot.map((one) => this.#addPromised(figures, one)).join("");
    this.#add(figures, "promises that were wrong", promising, () => {
      const wrong = correctReservedSums(this.#database);
      return wrong > 0 ? ` ${wrong}` : "";
    });
    this.#tables.addSums(figures);
    if (look.period !== null)
      for (const line of await this.#period(look.period)) addLine(figures, line);
    return figures;
  }

  #forget(): void {
    this.#known.clear();
    this.#tables.forget();
  }

  /** A text of figures: the one of before while no row has changed that these are counted from. */
  #add(figures: Map<string, string>, name: string, rows: string, count: () => string): void {
    let known = this.#known.get(name);
    if (known?.rows !== rows) {
      known = { rows, text: count() };
      this.#known.set(name, known);
    }
    if (known.text !== "") figures.set(name, known.text);
  }

  #addAccounts(
    figures: Map<string, string>,
    playing: PlayingCast,
    blocks: readonly number[],
  ): void {
    const { accounts } = this.#tables;
    const left = new Set(accounts.keys());
    for (const place of playing.places) {
      const { name } = place;
      left.delete(name);
      const count = (): string => this.#accountText(place, accounts.get(name), blocks);
      this.#add(figures, name, this.#tables.rowsOf(name), count);
    }
    for (const name of left) figures.set(`account ${name}`, " is nobody's");
  }

  /**
   * Adds the promises of a hot wallet and the balances of its merchant.
   * @returns the rows of the promises
   */
  #addPromised(figures: Map<string, string>, hot: Wallet): string {
    const { network, merchant, address } = hot;
    const others = readOthers(this.#database, hot);
    this.#add(figures, `promised ${network} ${address}`, others, () => {
      const rows = listReservedSums(this.#database, address, network);
      return textOfFigures(
        sorted(new Map(rows.map(({ currency, units }) => [currency, BigInt(units)]))),
      );
    });
    const rows = `${this.#tables.rowsOfMerchant(network, merchant)}${others}`;
    for (const currency of configured)
      if (currency.network === network)
        this.#add(figures, `balance ${merchant} ${currency.id}`, rows, () =>
          this.#balanceText(merchant, currency),
        );
    return others;
  }

  #accountText(
    { wallet, network, address, currency }: Place & { readonly wallet: Wallet },
    row: AccountRow | undefined,
    blocks: readonly number[],
  ): string {
    const database = this.#database;
    const place = { network, address, currency };
    const notes = listAdjustmentsOf(database, place, "note").map(({ block }) => block);
    const isOther =
      row !== undefined && (row.merchant !== wallet.merchant || row.kind !== wallet.kind);
    const text = textOfAccount(
      {
        units: row?.units ?? "0",
        held: row?.heldUnits ?? "0",
        settled: Math.max(-1, ...notes),
        opened: row?.openedBlock ?? null,
        unitsAt: (block) => unitsAt(database, place, block),
        explainedAt:
          wallet.kind === "hot"
            ? null
            : (block, hasSums) =>
                explainedUnits(database, place, block, hasSums ? "counted" : "left out"),
      },
      blocks,
    );
    return isOther ? `${text} owner=${row.merchant}/${row.kind}` : text;
  }

  #balanceText(merchant: string, currency: GatewayCurrency): string {
    const read = balanceOf({ config, store: this.#store }, merchant, currency);
    // A move that the opening has is not known to be behind an older reading.
    if (read === null || read.block < openedAt(this.#database, merchant, currency)) return "";
    const { available, reserved, pending, sweeping, total } = read.balance;
    return textOfFigures({ block: read.block, available, reserved, pending, sweeping, total });
  }

  #period({ network, merchant, before, last }: LookPeriod): Promise<readonly PeriodLine[]> {
    const options = {
      store: this.#store,
      network,
      merchant,
      currencies: configured.filter((one) => one.network === network),
      reader: undefined as never, // nobody asks it
      rest: async () => {},
    };
    return sumPeriod(options, { before, last }, false);
  }
}

function walletOf({ network, address }: Omit<Place, "currency">): Wallet {
  const found = cast.wallets.find((one) => one.network === network && one.address === address);
  if (found === undefined) throw new Error(`${address} is nobody's`);
  return found;
}

const merchantOf = (network: string, address: string): string =>
  walletOf({ network, address }).merchant;

/** The block at which the books of a merchant's hot wallet began; -1 without an opening. */
function openedAt(
  database: Database,
  merchant: string,
  { network, id: currency }: GatewayCurrency,
): number {
  const hot = hotWallets.find((one) => one.network === network && one.merchant === merchant);
  const place = { network, address: hot?.address ?? "", currency };
  return readAccount(database, place)?.openedBlock ?? -1;
}

/** As the watcher keeps a final payment (watcher/payments.ts). */
function keepPayment(database: Database, fact: PaymentFact): void {
  const { network, txHash, logIndex, deposit: address, currency, units, block, blockHash } = fact;
  const request = deposits.find((one) => one.address === address)?.request ?? "";
  const row: PaymentRow = {
    ...{ network, txHash, logIndex, address, currency, units: `${units}`, block, blockHash },
    ...{ final: 1, transactionId: request },
  };
  for (const other of listFinalInOtherBlock(database, row)) moveToGonePayments(database, other, 1);
  takeBackGonePayment(database, row);
  keepFinalPayment(database, row);
  if (!listFinalOf(database, network, txHash).some((one) => one.logIndex === logIndex))
    throw new Error("a payment that was kept is not there");
}

const networkOf = (database: Database, id: string): string =>
  readTransfer(database, id)?.network ?? "";

function replaceContent(database: Database, { id, currency, units, receiver }: ContentFact): void {
  const isWithdrawal = readTransfer(database, id)?.operation === "withdraw";
  replaceOrderContent(database, id, {
    ...{ contentHash: "01", currency, network: networkOf(database, id), amount: "1" },
    ...{ units: `${units}`, receiver: receiver ?? "", tag: "", refundOf: "", expiresAt: 1 },
    ...{ changedAt: 2, mode: isWithdrawal ? "auto" : null },
  });
}

function end(database: Database, fact: EndFact, later?: LaterSums): void {
  const { id, status, fee, block, sent, received } = fact;
  const attempt = { transactionId: id, txHash: `end ${id}`, feeUnits: `${fee ?? 0n}`, at: 1 };
  const isMoved = sent !== null && received !== null;
  if (isMoved) keepMovedAttempt(database, { ...attempt, block: block ?? 0 });
  const ending: WithdrawalEnd = {
    ...{ status, stage: "completed", code: "", txHash: `end ${id}`, finalBlock: block },
    ...{ feeUnits: fee === null ? "" : `${fee}`, changedAt: 2 },
    ...(isMoved ? { moved: { sentUnits: `${sent}`, receivedUnits: `${received}` } } : {}),
  };
  endWithdrawal(database, id, ending, later);
}

function addLine(figures: Map<string, string>, { merchant, currency, ...line }: PeriodLine): void {
  const text = textOfFigures({
    opening: line.openingUnits,
    in: line.inUnits,
    out: line.outUnits,
    fee: line.feeUnits,
    brought: line.broughtUnits,
    corrected: line.correctedUnits,
    closing: line.closingUnits,
  });
  figures.set(`period ${merchant} ${currency}`, text);
}
