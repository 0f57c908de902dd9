/**
 * `merchant`: makes, lists, shows, disables and enables merchants. No key of a disabled merchant is
 * accepted. Its earlier orders continue, and its agent stays connected for them. Each act is one
 * transaction with a line in the audit table.
 */
import { existsSync, rmSync } from "node:fs";
import { type Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { type Refusal, refuse } from "../../base/fault.ts";
import { addressSpaceNames } from "../../chains/families.ts";
import { nodeKeyPlaceholder } from "../config/node-keys.ts";
import { recordAct } from "../store/audit.ts";
import {
  type MerchantSummary,
  merchantSummaries,
  merchantSummary,
  setMerchantDisabled,
} from "../store/merchants.ts";
import {
  createMerchant,
  createReceivingMerchant,
  formatTimestamp,
  type NewMerchant,
  type OperatorContext,
} from "./accounts.ts";
import { agentConfigText } from "./agent-config.ts";
import {
  exitStatuses,
  isOkOrPrintsRefusal,
  type JsonOption,
  printJson,
  printList,
  printText,
  runInOperatorContext,
} from "./command.ts";
import { writeOwnFile } from "./folder.ts";
import { describeKey, type KeyLine, listKeys } from "./key-list.ts";
import {
  addMerchantPageCommand,
  describeMerchantPage,
  type MerchantPageLine,
  parseMerchantPageRow,
} from "./merchant-page.ts";
import { addActorOptions, addConfigAndJsonOptions } from "./words.ts";
import { type ReceivingAccount, readReceivingAccount } from "./xpub.ts";

export interface MerchantLine {
  readonly merchantId: string;
  readonly name: string;
  readonly language: "en" | "tr";
  readonly createdAt: string;
  readonly disabledAt: string; // "" while enabled
  readonly goodKeys: number; // neither revoked nor expired
  readonly agentId: string; // the paired agent; "" none
  readonly xpub: string; // the first xpub; "" unless it was created with one
  readonly receives: Readonly<Record<string, string>>; // the xpub of each family that it was created with
  readonly transactions: number;
  readonly openTransactions: number;
  readonly newestAt: string; // "" without transactions
  readonly page: MerchantPageLine;
}

const lineOf = (row: MerchantSummary): MerchantLine =>
  linesOf(row, JSON.parse(row.receives) as Record<string, string>);

const linesOf = (row: MerchantSummary, receives: MerchantLine["receives"]): MerchantLine => ({
  merchantId: row.id,
  name: row.name,
  language: row.language,
  createdAt: formatTimestamp(row.createdAt),
  disabledAt: formatTimestamp(row.disabledAt),
  goodKeys: row.goodKeys,
  agentId: row.agent ?? "",
  xpub: addressSpaceNames.map((name) => receives[name]).find((xpub) => xpub !== undefined) ?? "",
  receives,
  transactions: row.transactions,
  openTransactions: row.open,
  newestAt: formatTimestamp(row.newestAt),
  page: parseMerchantPageRow(row),
});

/** Every merchant, by name. */
export function listMerchants({ store, nowMs }: OperatorContext): readonly MerchantLine[] {
  return merchantSummaries(store.database, nowMs).map(lineOf);
}

/** One merchant with its keys. Refuses GATEWAY_UNKNOWN_MERCHANT. */
export function showMerchant(
  by: OperatorContext,
  id: string,
):
  | { readonly ok: true; readonly merchant: MerchantLine & { readonly keys: readonly KeyLine[] } }
  | Refusal {
  const row = merchantSummary(by.store.database, id, by.nowMs);
  if (row === undefined) return refuse("GATEWAY_UNKNOWN_MERCHANT");
  const listed = listKeys(by, id);
  return listed.ok ? { ok: true, merchant: { ...lineOf(row), keys: listed.keys } } : listed;
}

/** Disables or enables a merchant. Harmless to call twice. Refuses GATEWAY_UNKNOWN_MERCHANT. */
export function setMerchantEnabled(
  by: OperatorContext,
  id: string,
  isOn: boolean,
): { readonly ok: true; readonly open: number } | Refusal {
  return by.store.write((database) => {
    const row = merchantSummary(database, id, by.nowMs);
    if (row === undefined) return refuse("GATEWAY_UNKNOWN_MERCHANT");
    const isChange = (row.disabledAt === null) !== isOn;
    if (isChange) {
      setMerchantDisabled(database, id, isOn ? null : by.nowMs);
      const act = isOn ? "merchant switched on" : "merchant switched off";
      recordAct(database, { at: by.nowMs, actor: by.actor, act, subject: id, detail: "" });
    }
    return { ok: true, open: row.open };
  });
}

/** Lines of at most 80 characters, except for a long name and an xpub. */
export function describeMerchant(line: MerchantLine): string {
  const state = line.disabledAt === "" ? "on" : `off since ${line.disabledAt}`;
  const agent = line.agentId === "" ? "no server paired" : `agent ${line.agentId}`;
  const lines = [
    `${line.merchantId}  ${state}  ${line.name}`,
    `  ${agent}, keys ${line.goodKeys}, language ${line.language}, made ${line.createdAt}`,
    `  orders ${line.transactions}, open ${line.openTransactions}, newest ${line.newestAt || "never"}`,
  ];
  const page = describeMerchantPage(line.page);
  if (page !== "") lines.push(`  ${page}`);
  const receives = Object.entries(line.receives).map(
    ([family, xpub]) => `  receives under ${xpub} (${family})`,
  );
  return [...lines, ...receives].join("\n");
}

interface CreateOptions extends JsonOption {
  readonly configOut?: string;
  readonly nodes: boolean;
  readonly language: "en" | "tr";
  readonly strict?: boolean;
  readonly xpub?: readonly string[];
}

function create(name: string, options: CreateOptions): void {
  const { configOut, language, xpub } = options;
  const profile = options.strict === true ? "strict" : "compatible";
  const accounts = accountsOf(xpub ?? []);
  runInOperatorContext(options, (by, config) => {
    const wanted: NewMerchant = { name, language, profile };
    const file = agentConfigText(config, options.nodes);
    // The file comes first: keys are shown once, so nothing may fail after they are made.
    if (configOut !== undefined) writeOwnFile(configOut, file);
    const made = removingOnFailure(configOut, () =>
      accounts.length === 0
        ? { ok: true as const, ...createMerchant(by, wanted) }
        : createReceivingMerchant(by, wanted, ...accounts),
    );
    if (!isOkOrPrintsRefusal(made)) return;
    const { ok: _, ...shown } = made;
    if (options.json === true) {
      printJson({ ...shown, ...firstAddresses(accounts) });
      return;
    }
    printText(
      `merchantId  ${made.merchantId}\napiKey      ${made.apiKey}\nshopKey     ${made.shopKey}`,
    );
    printText(
      "This is the only time the keys are shown. apiKey goes into config.json and only pairs a server;",
    );
    printText(
      `shopKey is the shop's: it orders and reads (${profile}). Make narrower ones with \`key create\`.`,
    );
    if (accounts.length > 0) printText(receivingWords(accounts));
    if (configOut !== undefined) printText(describeWrittenAgentConfig(configOut, file));
  });
}

/** Does an act, and removes the file that was written for it if the act fails or is refused. */
function removingOnFailure<T extends { readonly ok: boolean }>(
  path: string | undefined,
  act: () => T,
): T {
  let isDone = false;
  try {
    const done = act();
    isDone = done.ok;
    return done;
  } finally {
    if (!isDone && path !== undefined) rmSync(path, { force: true });
  }
}

/**
 * The message about the file for an agent. The file does not have the operator's keys of node
 * providers; a merchant uses its own.
 */
export function describeWrittenAgentConfig(path: string, text: string): string {
  if (text.includes('"nodes": []'))
    return `Wrote ${path}: the merchant replaces the three secrets in it, and fills in nodes of their own for each chain.`;
  if (!text.includes(nodeKeyPlaceholder))
    return `Wrote ${path}: the merchant replaces the three secrets in it.`;
  const nodes = `and each ${nodeKeyPlaceholder} in the address of a node by a key of their own`;
  return `Wrote ${path}: the merchant replaces the three secrets in it, ${nodes}: yours are not in the file.`;
}

/**
 * The xpub never goes through the command line's own errors, because they would repeat a private
 * key.
 */
function accountsOf(xpubs: readonly string[]): readonly ReceivingAccount[] {
  const accounts = xpubs.map((xpub) => {
    const account = readReceivingAccount(xpub);
    if ("problem" in account)
      throw new CommanderError(exitStatuses.usage, "xpub", `--xpub: ${account.problem}`);
    return account;
  });
  if (new Set(accounts.map(({ family }) => family)).size < accounts.length)
    throw new CommanderError(exitStatuses.usage, "xpub", "--xpub: one account a family");
  return accounts;
}

function firstAddresses(accounts: readonly ReceivingAccount[]): object {
  const [first] = accounts;
  if (first === undefined) return {};
  const all = accounts.map(({ family, firstDepositAddress }) => [family, firstDepositAddress]);
  return {
    firstDepositAddress: first.firstDepositAddress,
    firstDepositAddresses: Object.fromEntries(all),
  };
}

const receivingWords = (accounts: readonly ReceivingAccount[]): string =>
  [
    "Deposits go to this account, and no server is needed. Its first address must be the first in the merchant's wallet:",
    ...accounts.map(({ family, firstDepositAddress }) => `  ${firstDepositAddress} (${family})`),
  ].join("\n");

function show(id: string, options: JsonOption): void {
  runInOperatorContext(options, (by) => {
    const shown = showMerchant(by, id);
    if (!isOkOrPrintsRefusal(shown)) return;
    if (options.json === true) printJson(shown.merchant);
    else
      printText(
        `${describeMerchant(shown.merchant)}\n${shown.merchant.keys.map(describeKey).join("\n") || "No key has been made yet."}`,
      );
  });
}

function list(options: JsonOption): void {
  runInOperatorContext(options, (by) => {
    const merchants = listMerchants(by);
    if (options.json === true) printJson(merchants);
    else printList(merchants.map(describeMerchant), "No merchant has been made yet.");
  });
}

function turn(id: string, isOn: boolean, options: JsonOption): void {
  runInOperatorContext(options, (by) => {
    const switched = setMerchantEnabled(by, id, isOn);
    if (!isOkOrPrintsRefusal(switched)) return;
    if (options.json === true)
      printJson({ merchantId: id, enabled: isOn, openTransactions: switched.open });
    else if (isOn) printText(`${id} is on: its keys work again.`);
    else
      printText(
        `${id} is off: none of its keys does anything. Orders that are open and go on: ${switched.open}.`,
      );
  });
}

function merchantName(text: string): string {
  if (!/^[^\p{C}]{1,64}$/u.test(text)) throw new InvalidArgumentError("1 to 64 visible characters");
  return text;
}

function newFile(path: string): string {
  if (existsSync(path))
    throw new InvalidArgumentError("That file is there already; choose another path.");
  return path;
}

export function addMerchantCommands(program: Command): void {
  const merchant = program.command("merchant").alias("merchants").description("the shops");
  addActorOptions(
    merchant
      .command("create")
      .description("add one, with a key that pairs and one for the shop")
      .argument("<name>", "its name", merchantName),
  )
    .option("--config-out <file>", "write the merchant's config.json, without its secrets", newFile)
    .option(
      "--no-nodes",
      "leave the lists of nodes in that file empty: the merchant names their own",
    )
    .option("--strict", "the shop's key binds each token to its request")
    .option(
      "--xpub <[family=]xpub>",
      "it only receives, under this account, and pairs no server; once for each family",
      (text: string, before: readonly string[] = []) => [...before, text],
    )
    .addOption(
      new Option("--language <language>", "of messages when a request names none")
        .choices(["en", "tr"])
        .default("en"),
    )
    .action(create);
  addConfigAndJsonOptions(
    merchant.command("list", { isDefault: true }).description("all of them"),
  ).action(list);
  addConfigAndJsonOptions(
    merchant.command("show").description("one, with its keys").argument("<merchantId>"),
  ).action(show);
  addMerchantPageCommand(merchant);
  addActorOptions(
    merchant
      .command("disable")
      .description("switch one off: its keys do nothing until enable")
      .argument("<merchantId>"),
  ).action((id: string, options: JsonOption) => turn(id, false, options));
  addActorOptions(
    merchant.command("enable").description("switch one on again").argument("<merchantId>"),
  ).action((id: string, options: JsonOption) => turn(id, true, options));
}
