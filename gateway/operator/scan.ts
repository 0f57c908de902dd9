/**
 * `scan`: finds money and used addresses on deposit accounts that the database does not know. It
 * needs only the public key of an account and works while a gateway runs. With `--watch` the found
 * addresses are watched. Sources: BIP-44, SLIP-44; docs/recovering.md section 7.
 */
import { type Command, InvalidArgumentError } from "commander";
import { AgentError, type Refusal, refuse } from "../../base/fault.ts";
import { openWatcher } from "../../chains/connect.ts";
import { familyOf, findFamilyOfAddressSpace } from "../../chains/families.ts";
import type { GatewayConfig, GatewayCurrency } from "../config/config.ts";
import { readSecretFile } from "../config/secret-file.ts";
import { type DepositAccount, listMerchantDepositAccounts } from "../deposits/ceilings.ts";
import {
  type RegisteredFindings,
  type ScannedChain,
  takeInFoundAddresses,
} from "../deposits/found.ts";
import {
  type FoundAddress,
  gapDefault,
  type ScannedAccount,
  type ScanResult,
  scanAccounts,
} from "../deposits/scan.ts";
import { unattributedIdOf } from "../store/forgotten-addresses.ts";
import { isRequestedAddress } from "../store/found-addresses.ts";
import { nodeLog } from "../watcher/node-log.ts";
import type { OperatorContext } from "./accounts.ts";
import {
  exitStatuses,
  isOkOrPrintsRefusal,
  type JsonOption,
  makeLog,
  printJson,
  printText,
  readClock,
  runInOperatorContext,
} from "./command.ts";
import { checkRecordFilter } from "./named.ts";
import { amountText } from "./records.ts";
import { addActorOptions } from "./words.ts";
import { readReceivingAccount } from "./xpub.ts";

interface ScanOptions extends JsonOption {
  readonly merchant?: string;
  readonly xpub?: string;
  readonly currency?: string;
  readonly from: number;
  readonly to?: number;
  readonly gap: number;
  readonly watch?: boolean;
}

/** The result of a scan of one chain. */
interface ChainScan {
  readonly chain: string;
  readonly network: string;
  readonly code: string; // code of the fault that ended it; "" none
  readonly scanned: ScanResult | null;
}

/** An account with its derivation path, as far as it is known here. */
interface NamedAccount extends ScannedAccount {
  readonly path: string; // before the index
  readonly merchant: string;
}

const addressIndexMax = 2 ** 31 - 1; // BIP-32: a non-hardened child
const gapMax = 1_000_000;

function addressIndex(text: string): number {
  const index = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(index <= addressIndexMax))
    throw new InvalidArgumentError(`an address index, 0 to ${addressIndexMax}`);
  return index;
}

function gapOf(text: string): number {
  const gap = /^[1-9]\d{0,6}$/.test(text) ? Number(text) : Number.NaN;
  if (!(gap <= gapMax)) throw new InvalidArgumentError(`a number from 1 to ${gapMax}`);
  return gap;
}

/** The derivation path of an address without its index (BIP-44, BIP-84). */
function pathOf({ family, agent }: Pick<DepositAccount, "family" | "agent">): string {
  const paths = findFamilyOfAddressSpace(family)?.paths;
  const number = paths?.accounts.find(({ purpose }) => purpose === "deposits")?.number;
  // The merchant brought the account itself, so only the levels below it are known.
  return agent === null || paths === undefined
    ? "0"
    : `m/${paths.purpose}'/${paths.coinType}'/${number}'/${paths.deposits.join("/")}`;
}

const asNamed = (account: DepositAccount): NamedAccount => ({
  family: account.family,
  id: account.id,
  firstAddress: account.firstAddress,
  merchant: account.merchant,
  known: Math.max(account.next, account.ceiling),
  path: pathOf(account),
});

function accountsOf(
  { store: { database } }: OperatorContext,
  { merchant, xpub }: ScanOptions,
):
  | {
      readonly ok: true;
      readonly own: readonly DepositAccount[];
      readonly accounts: readonly NamedAccount[];
    }
  | Refusal {
  if (xpub !== undefined) {
    const read = readReceivingAccount(xpub);
    if ("problem" in read) throw new InvalidArgumentError(`--xpub: ${read.problem}`);
    const { family, xpub: id, firstDepositAddress: firstAddress } = read;
    return {
      ok: true,
      own: [],
      accounts: [{ family, id, firstAddress, merchant: "", known: 0, path: "0" }],
    };
  }
  const own = listMerchantDepositAccounts(database, merchant ?? "");
  const accounts = new Map(own.map((account) => [account.firstAddress, asNamed(account)]));
  return { ok: true, own, accounts: [...accounts.values()] };
}

async function scanChain(
  { store: { database } }: OperatorContext,
  config: GatewayConfig,
  name: string,
  accounts: readonly NamedAccount[],
  { currency, from, to, gap }: ScanOptions,
): Promise<ChainScan | null> {
  const chain = config.chains[name];
  if (chain === undefined) return null;
  const { network } = chain;
  const currencies = Object.values(config.currencies).filter(
    (one: GatewayCurrency) =>
      one.network === network && (currency === undefined || one.id === currency),
  );
  const own = accounts.filter(({ family }) => family === familyOf(network).addressSpace.name);
  if (currencies.length === 0 || own.length === 0) return null;
  const owners = [...new Set(own.map(({ merchant }) => merchant))];
  const isNamed = (address: string): boolean =>
    owners.some((merchant) =>
      isRequestedAddress(database, address, unattributedIdOf({ merchant, address })),
    );
  const reader = openWatcher({ chain, readSecretFile, log: nodeLog(makeLog("error"), name) });
  const onProgress = progressOf(name);
  try {
    const scanned = await scanAccounts(own, {
      reader,
      currencies,
      from,
      to: to ?? null,
      gap,
      isNamed,
      clock: readClock,
      rest,
      onProgress,
    });
    return { chain: name, network, code: "", scanned };
  } catch (error) {
    if (!(error instanceof AgentError) || error.code.startsWith("GATEWAY_STORE_")) throw error;
    return { chain: name, network, code: error.code, scanned: null };
  } finally {
    onProgress(-1);
    reader.close();
  }
}

const rest = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const progressMs = 200;

/**
 * One terminal line that is overwritten; nothing if stderr is no terminal. A value below 0 clears
 * the line.
 */
function progressOf(name: string): (at: number) => void {
  let saidAt = 0;
  return (at) => {
    if (!process.stderr.isTTY || (at >= 0 && readClock() - saidAt < progressMs)) return;
    saidAt = readClock();
    process.stderr.write(
      at < 0 ? "\r\u001b[K" : `\r\u001b[K${name}: looked at address indexes up to ${at}`,
    );
  };
}

function scan(options: ScanOptions): Promise<void> | void {
  return runInOperatorContext(options, async (by, config) => {
    const refused = problemOf(by, config, options);
    if (!isOkOrPrintsRefusal(refused)) return;
    const asked = accountsOf(by, options);
    if (!isOkOrPrintsRefusal(asked)) return;
    const chains: ChainScan[] = [];
    for (const name of Object.keys(config.chains)) {
      const scanned = await scanChain(by, config, name, asked.accounts, options);
      if (scanned !== null) chains.push(scanned);
    }
    const taken = options.watch === true ? takeIn(by, config, asked.own, chains) : null;
    tell(config, options, chains, asked.accounts, taken);
    const isFound = chains.some(({ scanned }) => (scanned?.found.length ?? 0) > 0);
    if (isFound && taken === null) process.exitCode = exitStatuses.no;
    else
      process.exitCode = chains.some(({ code }) => code !== "")
        ? exitStatuses.unreachable
        : exitStatuses.fine;
  });
}

function problemOf(
  by: OperatorContext,
  config: GatewayConfig,
  options: ScanOptions,
): { readonly ok: true } | Refusal {
  const { merchant, xpub, currency, watch, from, to } = options;
  if ((merchant === undefined) === (xpub === undefined))
    throw new InvalidArgumentError("give --merchant or --xpub");
  if (watch === true && merchant === undefined)
    throw new InvalidArgumentError("--watch wants --merchant");
  if (to !== undefined && to < from) throw new InvalidArgumentError("--to lies below --from");
  if (currency !== undefined && !Object.hasOwn(config.currencies, currency))
    return refuse("GATEWAY_UNKNOWN_CURRENCY", `there is no currency ${currency}`);
  return checkRecordFilter(by, merchant === undefined ? {} : { merchant });
}

function takeIn(
  by: OperatorContext,
  config: GatewayConfig,
  own: readonly DepositAccount[],
  chains: readonly ChainScan[],
): RegisteredFindings {
  const read = chains.flatMap(({ network, scanned }): ScannedChain[] =>
    scanned === null ? [] : [{ network, scanned }],
  );
  const networks = Object.values(config.chains).map(({ network }) => network);
  if (read.every(({ scanned }) => scanned.found.length === 0))
    return { watched: 0, passedOver: 0, unswept: [] };
  return takeInFoundAddresses(by.store, own, read, { networks, nowMs: by.nowMs, actor: by.actor });
}

function tell(
  config: GatewayConfig,
  options: ScanOptions,
  chains: readonly ChainScan[],
  accounts: readonly NamedAccount[],
  taken: RegisteredFindings | null,
): void {
  const pathTo = ({ account, addressIndex: at }: FoundAddress): string =>
    `${accounts.find(({ firstAddress }) => firstAddress === account.firstAddress)?.path ?? "0"}/${at}`;
  if (options.json === true) {
    printJson({ ...listed(config, chains, pathTo), gap: options.gap, taken });
    return;
  }
  if (chains.length === 0) printText("No deposit account is on any chain that was asked for.");
  for (const { chain, code, scanned } of chains) {
    printText(
      scanned === null ? `${chain}: not scanned: ${code}` : `${chain}: ${scannedWords(scanned)}`,
    );
    for (const one of scanned?.found ?? []) printText(foundWords(config, one, pathTo(one)));
  }
  if (taken === null) return;
  printText(
    `Watched from now on: ${taken.watched}; address indexes that no order gets any more: ${taken.passedOver}.`,
  );
  for (const address of taken.unswept)
    printText(`  ${address} is watched and cannot be swept: its index is another address' here`);
  if (taken.watched > 0)
    printText(
      "Money there stands in deposits unattributed once the gateway has compared the balances.",
    );
}

function scannedWords({ first, last, asked, named, end, found }: ScanResult): string {
  const blocks = first.number === last ? `block ${last}` : `blocks ${first.number} to ${last}`;
  return `at ${blocks}, indexes below ${end}: ${asked} addresses asked, ${named} known, ${found.length} found that are not`;
}

function foundWords(
  config: GatewayConfig,
  { address, balances, wasUsed }: FoundAddress,
  path: string,
): string {
  const amounts = balances
    .map(({ currency, units }) => amountText(config, currency, `${units}`))
    .join(", ");
  const used = wasUsed ? "its account was used" : "its account sent nothing";
  return `  ${address}  ${path}  ${amounts === "" ? "holds nothing" : amounts}; ${used}`;
}

function listed(
  config: GatewayConfig,
  chains: readonly ChainScan[],
  pathTo: (found: FoundAddress) => string,
) {
  const found = chains.flatMap(({ chain, network, scanned }) =>
    (scanned?.found ?? []).map((one) => ({
      chain,
      network,
      address: one.address,
      path: pathTo(one),
      addressIndex: one.addressIndex,
      block: one.block,
      balances: one.balances.map(({ currency, units }) => ({
        currency,
        amount: amountText(config, currency, `${units}`).split(" ")[0] ?? "",
      })),
      wasUsed: one.wasUsed,
    })),
  );
  const read = chains.map(({ chain, network, code, scanned }) => ({
    chain,
    network,
    code,
    firstBlock: scanned?.first.number ?? null,
    lastBlock: scanned?.last ?? null,
    asked: scanned?.asked ?? 0,
    known: scanned?.named ?? 0,
    end: scanned?.end ?? 0,
  }));
  return { ok: found.length === 0 && chains.every(({ code }) => code === ""), chains: read, found };
}

export function addScanCommand(program: Command): void {
  addActorOptions(
    program
      .command("scan")
      .description("find money on deposit addresses that the database does not know"),
  )
    .option("--merchant <id>", "whose deposit accounts")
    .option(
      "--xpub <account>",
      "[FAMILY=]XPUB of an account that nobody has here; nothing is written",
    )
    .option("--currency <id>", "this one alone")
    .option("--from <index>", "the first address index of each account", addressIndex, 0)
    .option(
      "--to <index>",
      "the last one; without it until so many indexes in a row as --gap says are unused",
      addressIndex,
    )
    .option("--gap <number>", "unused indexes in a row that end the scan", gapOf, gapDefault)
    .option(
      "--watch",
      "watch what was found from now on, and give none of these indexes to an order",
    )
    .action(scan);
}
