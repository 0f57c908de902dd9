/**
 * `find`: everything that a text names, among all merchants: a record's id or its beginning, an
 * order, an address, a tag, a transaction hash, an amount, or somebody's id or name. Changes
 * nothing.
 */
import { type Command, InvalidArgumentError } from "commander";
import type { Payee } from "../../chains/accounts.ts";
import { parseAddressOnAny } from "../../chains/address-forms.ts";
import { families } from "../../chains/families.ts";
import { mainNetworkByAddressSpace } from "../../chains/network-names.ts";
import { payeeOf } from "../../chains/payees.ts";
import { formatAmount, parseAmount } from "../../protocol/amount.ts";
import type { GatewayConfig, GatewayCurrency } from "../config/config.ts";
import type { OutgoingRow } from "../store/rows.ts";
import {
  agentsOfAddress,
  depositsOfPayee,
  depositsOfTag,
  type FoundNonRecord,
  type FoundRecord,
  findNamedNonRecords,
  foreignOfTxHash,
  recordsOfAddress,
  recordsOfAmount,
  recordsOfBeginning,
  recordsOfId,
  recordsOfOrder,
  recordsOfTxHash,
} from "../store/search.ts";
import type { Database } from "../store/store.ts";
import {
  readTransactionsWithMerchant,
  type TransactionWithMerchant,
} from "../store/transaction-lists.ts";
import type { OperatorContext } from "./accounts.ts";
import {
  exitStatuses,
  type JsonOption,
  printJson,
  printText,
  runInOperatorContext,
} from "./command.ts";
import { describeRecord, jsonOfRecord, receivedText } from "./records.ts";
import { addConfigAndJsonOptions, readRowCount } from "./words.ts";

/** A record, how it was found, and the command that shows it whole. */
export interface RecordHit {
  readonly row: TransactionWithMerchant;
  readonly by: FoundRecord["by"];
  readonly show: string;
}

export interface SearchHits {
  readonly records: readonly RecordHit[];
  readonly others: readonly FoundNonRecord[];
  readonly foreign: readonly OutgoingRow[]; // transactions of a hot wallet that nobody ordered here
}

const textLengthMax = 200;
const limitDefault = 50;

function searchText(text: string): string {
  const trimmed = text.trim();
  if (!/^[^\p{C}]+$/u.test(trimmed) || trimmed.length > textLengthMax)
    throw new InvalidArgumentError(`1 to ${textLengthMax} visible characters`);
  return trimmed;
}

/** The canonical addresses that a text names on any network. Letters of either case are taken. */
function addressesIn(text: string, networks: readonly string[]): readonly string[] {
  for (const spelling of [text, text.toLowerCase()]) {
    const parsed = parseAddressOnAny(spelling, networks);
    if (parsed.ok) return parsed.addresses;
  }
  // A deposit address with its tag in it, as the database has it.
  return networks.some((network) => payeeOf(network, text).tag !== "") ? [text] : [];
}

/** `ADDRESS TAG`, as a customer tells it; the word `tag` may stand between. */
function payeesIn(text: string): readonly Payee[] {
  const [, address = "", tag = ""] = /^(\S+)[\s:]+(?:tag\s+)?(\d{1,20})$/i.exec(text) ?? [];
  return address === "" ? [] : [{ address, tag }];
}

/** The hashes that a text may be, in the spelling of each family. */
function hashesIn(text: string): readonly string[] {
  const digits = text.toLowerCase().replace(/^0x/, "");
  return [digits, `0x${digits}`, digits.toUpperCase()].filter((hash) =>
    Object.values(families).some(({ isTxHash }) => isTxHash(hash)),
  );
}

/** `12.5`, or `12.5 usdt` for one currency alone. */
function amountsIn(
  text: string,
  currencies: readonly GatewayCurrency[],
): readonly { readonly currency: string; readonly units: bigint }[] {
  const [, amount = "", named = ""] = /^([\d.]+)(?:\s+(\S+))?$/.exec(text) ?? [];
  if (amount === "") return [];
  return currencies
    .filter(({ id }) => named === "" || id.toLowerCase() === named.toLowerCase())
    .flatMap(({ id, decimal }) => {
      const parsed = parseAmount(amount, decimal);
      return parsed.ok ? [{ currency: id, units: parsed.units }] : [];
    });
}

/** Everything that a text names: records newest first, at most `most` of each way to find them. */
export function searchRecords(
  database: Database,
  { chains, currencies }: Pick<GatewayConfig, "chains" | "currencies">,
  text: string,
  most: number,
): SearchHits {
  const networks = Object.values(chains).map(({ network }) => network);
  // Records outlive the configuration of their chain.
  const addresses = addressesIn(text, [...networks, ...Object.values(mainNetworkByAddressSpace)]);
  const hashes = hashesIn(text);
  const found = [
    ...recordsOfId(database, text),
    ...recordsOfBeginning(database, text.toLowerCase(), most),
    ...recordsOfOrder(database, text, most),
    ...addresses.flatMap((address) => recordsOfAddress(database, address, most)),
    ...payeesIn(text).flatMap((payee) => depositsOfPayee(database, payee, most)),
    ...depositsOfTag(database, text.replace(/^tag\s+/i, ""), most),
    ...hashes.flatMap((txHash) => recordsOfTxHash(database, { networks, txHash })),
    ...amountsIn(text, Object.values(currencies)).flatMap((amount) =>
      recordsOfAmount(database, amount, most),
    ),
  ];
  const firstBy = new Map<string, FoundRecord["by"]>();
  for (const { id, by } of found) if (!firstBy.has(id)) firstBy.set(id, by);
  const rows = readTransactionsWithMerchant(database, [...firstBy.keys()]);
  const others = [
    ...findNamedNonRecords(database, text, most),
    ...addresses.flatMap((address) => agentsOfAddress(database, address)),
  ];
  return {
    records: rows.map((row) => ({
      row,
      by: firstBy.get(row.id) ?? "transactionId",
      show: `${groupOf(row)} show ${row.id}`,
    })),
    others,
    foreign: hashes.flatMap((hash) => foreignOfTxHash(database, hash)),
  };
}

function groupOf({ operation }: TransactionWithMerchant): string {
  if (operation === "deposit") return "deposits";
  return operation === "withdraw" ? "withdrawals" : "sweeps";
}

const kinds = {
  deposit: "deposit",
  withdraw: "withdrawal",
  sweep: "sweep",
  topup: "top-up",
} as const;

const otherShow: Readonly<Record<FoundNonRecord["kind"], string>> = {
  merchant: "merchant show",
  agent: "agents",
  key: "key list",
  callback: "callbacks list",
  invoice: "deposits show",
};

const showOf = ({ kind, id }: FoundNonRecord): string =>
  kind === "merchant" || kind === "invoice" ? `${otherShow[kind]} ${id}` : otherShow[kind];

/** The amount of an outgoing transaction, in the currency of its contract if one is configured. */
function foreignAmount(
  { network, contract, units }: OutgoingRow,
  { currencies }: GatewayConfig,
): string {
  const known = Object.values(currencies).find(
    (one) => one.network === network && one.contract === contract,
  );
  if (known !== undefined) return `${formatAmount(BigInt(units), known.decimal)} ${known.id}`;
  return `${units} base units of ${contract || "the native coin"}`;
}

function describe({ records, others, foreign }: SearchHits, config: GatewayConfig): string {
  return [
    ...records.map(({ row, by, show }) => {
      const amount =
        row.operation === "deposit" ? receivedText(config, row) : `${row.amount} ${row.currency}`;
      return `${describeRecord(row, amount)}\n  ${kinds[row.operation]}, found by its ${by}; next: ${show}`;
    }),
    ...others.map(
      (one) =>
        `${one.id}  ${one.kind} of ${one.name}, found by its ${one.by}; next: ${showOf(one)}`,
    ),
    ...foreign.map((row) =>
      [
        `${row.txHash}  ${foreignAmount(row, config)} from hot wallet ${row.account}, block ${row.block} of ${row.network}`,
        `  to ${row.receiver || "a contract"}; nobody ordered it here`,
      ].join("\n"),
    ),
  ].join("\n");
}

function listed(
  by: OperatorContext,
  { records, others, foreign }: SearchHits,
  config: GatewayConfig,
): object {
  return {
    records: records.map((one) => {
      return {
        kind: kinds[one.row.operation],
        by: one.by,
        show: one.show,
        record: jsonOfRecord(by, one.row, config),
      };
    }),
    others: others.map((one) => ({
      kind: one.kind,
      id: one.id,
      merchant: one.name,
      by: one.by,
      show: showOf(one),
    })),
    foreign: foreign.map(({ txHash, network, account, receiver, contract, units, block }) => {
      return { txHash, network, account, receiver, contract, units, block };
    }),
  };
}

function find(words: readonly string[], options: JsonOption & { readonly limit: number }): void {
  const text = searchText(words.join(" "));
  runInOperatorContext(options, (by, config) => {
    const hits = searchRecords(by.store.database, config, text, options.limit);
    const isEmpty = hits.records.length + hits.others.length + hits.foreign.length === 0;
    if (options.json === true) printJson(listed(by, hits, config));
    else
      printText(
        isEmpty
          ? "Nothing here has this id, order, address, tag, transaction hash, amount or name."
          : describe(hits, config),
      );
    process.exitCode = isEmpty ? exitStatuses.no : exitStatuses.fine;
  });
}

export function addFindCommand(program: Command): void {
  addConfigAndJsonOptions(
    program
      .command("find")
      .description(
        "all that a text names: an id or its beginning, order, address, tag, hash, amount or name",
      ),
  )
    .argument("<text...>", "as it was told to you; an amount may name its currency: 12.5 usdt")
    .option(
      "--limit <number>",
      "how many of each kind, the newest first",
      readRowCount,
      limitDefault,
    )
    .action(find);
}
