/**
 * `withdrawals moved` and `sweeps moved`: shows what nodes tell of a final attempt that moved
 * something else than was asked for, and ends its order by what an operator says that it moved.
 */
import { type Command, CommanderError, InvalidArgumentError } from "commander";
import { AgentError } from "../../base/fault.ts";
import { commandOfEnd } from "../../base/state-end.ts";
import { openWatcher } from "../../chains/connect.ts";
import { nativeCurrencyOf } from "../balance/funds.ts";
import type { GatewayConfig } from "../config/config.ts";
import { readSecretFile } from "../config/secret-file.ts";
import { currencyHoldOf } from "../store/currency-holds.ts";
import type { TransferRow } from "../store/rows.ts";
import { nodeLog } from "../watcher/node-log.ts";
import type { OperatorContext } from "./accounts.ts";
import {
  type ActorOption,
  exitStatuses,
  isOkOrPrintsRefusal,
  type JsonOption,
  makeLog,
  printJson,
  printText,
  runInOperatorContext,
} from "./command.ts";
import {
  type AccountBalances,
  type EvidencedWithdrawal,
  endWithdrawalByMoved,
  type MovedEvidenceReader,
  type MovedOperation,
  movedEvidenceOf,
  readMovedEvidence,
} from "./moving.ts";
import { amountText } from "./records.ts";
import { gatewayStateEnds } from "./state-ends.ts";
import { addActorOptions, readRemark } from "./words.ts";

interface MovedOptions extends JsonOption, ActorOption {
  readonly received?: bigint;
  readonly sent?: bigint;
  readonly reason?: string;
}

/** A command that ends one, in the words of its group. */
export function addMovedCommand(group: Command, operation: MovedOperation): void {
  const name = operation === "sweep" ? "sweeps" : "withdrawals";
  addActorOptions(
    group
      .command("moved")
      .description(
        "show what a final attempt moved that is not what was asked for, and end it by that",
      )
      .argument("<transactionId>"),
  )
    .option(
      "--received <units>",
      "what the receiver got, in base units of the currency; without it nothing is written",
      baseUnits,
    )
    .option(
      "--sent <units>",
      "what left the account that pays, where that is not the same: a token that takes a fee",
      baseUnits,
    )
    .option("--reason <text>", "why, for anybody who looks later; with --received", readRemark)
    .action((id: string, options: MovedOptions) => moved(name, operation, id, options));
}

function moved(
  name: string,
  operation: MovedOperation,
  id: string,
  options: MovedOptions,
): Promise<void> | void {
  const { received, sent = received, reason } = options;
  if (received === undefined ? sent !== undefined : reason === undefined)
    throw new CommanderError(
      exitStatuses.usage,
      "moved",
      "--sent needs --received, and --received needs --reason",
    );
  return runInOperatorContext(options, async (by, config) => {
    const about = { operation, id };
    if (received === undefined || sent === undefined || reason === undefined) {
      const told = await movedEvidenceOf(by, config, about, askChain(config));
      if (isOkOrPrintsRefusal(told))
        show(by, config, told, { name, isJson: options.json === true });
      return;
    }
    const moving = { receivedUnits: received, sentUnits: sent, reason };
    const ended = await endWithdrawalByMoved(by, config, about, moving, askChain(config));
    if (!isOkOrPrintsRefusal(ended)) return;
    const { row } = ended;
    if (options.json === true) printJson(endedFields(by, row));
    else printText(`${endWords(config, row)}\n${holdWords(by, row)}`);
  });
}

const endedFields = (
  by: OperatorContext,
  { id, status, stage, code, receivedUnits, txHash, ...row }: TransferRow,
): object => {
  const isHeld = currencyHoldOf(by.store.database, row.currency, row.merchant) !== undefined;
  return {
    transactionId: id,
    status,
    stage,
    code,
    txHash,
    receivedUnits,
    currency: row.currency,
    isHeld,
  };
};

/** The currency that a row moves: of a top-up the native coin. */
const assetOf = (config: GatewayConfig, { operation, network, currency }: TransferRow): string =>
  operation === "topup" ? (nativeCurrencyOf(config, network)?.id ?? currency) : currency;

function endWords(config: GatewayConfig, row: TransferRow): string {
  const { id, status, code, receivedUnits } = row;
  if (status === 1) return `${id} is Completed: it moved exactly what was asked for.`;
  return `${id} is Failed (${code}): ${amountText(config, assetOf(config, row), receivedUnits)} were received. Its agent hears the end.`;
}

function holdWords({ store }: OperatorContext, { currency, merchant }: TransferRow): string {
  if (currencyHoldOf(store.database, currency, merchant) === undefined)
    return `${currency} is not held here.`;
  return `${currency} stays held: ${commandOfEnd(gatewayStateEnds.agents.currencyHeld, { ID: currency })}, once it is clear why.`;
}

interface OutputForm {
  readonly name: string;
  readonly isJson: boolean;
}

function show(
  by: OperatorContext,
  config: GatewayConfig,
  { row, final, seen }: EvidencedWithdrawal,
  { name, isJson }: OutputForm,
): void {
  const { txHash, block } = final;
  const attempted = { txHash, block };
  if (isJson) {
    const payments =
      seen.payments?.map((one) => ({ txHash: one.txHash, units: `${one.units}` })) ?? null;
    const asked = { transactionId: row.id, currency: row.currency, units: row.units };
    printJson({
      ...asked,
      ...attempted,
      payments,
      receiver: accountFields(seen.receiver),
      payer: accountFields(seen.payer),
    });
    return;
  }
  const paid = seen.payments?.filter((one) => one.txHash === txHash).map(({ units }) => `${units}`);
  const events =
    paid === undefined
      ? "not told"
      : paid.length === 0
        ? "none to the receiver"
        : paid.join(" and ");
  printText(
    [
      `${row.id} asks for ${amountText(config, assetOf(config, row), row.units)} (${row.units} base units)`,
      `  its final attempt ${txHash}, in block ${block}, is not that`,
      `  its payments to the receiver, in base units: ${events}`,
      ...accountLines("receiver", seen.receiver),
      ...accountLines("paid by", seen.payer),
      "  other payments of that block, and a token that lies, show in the balances or nowhere: look at an explorer",
      `  do: autowithdraw-gateway ${name} moved ${row.id} --received UNITS --reason TEXT`,
      "      with --sent UNITS where another amount left the account that pays",
      `  ${holdWords(by, row)}`,
    ].join("\n"),
  );
}

const unitsText = (units: bigint | null): string | null => (units === null ? null : `${units}`);

function accountFields({ address, before, after }: AccountBalances): object {
  return { address, before: unitsText(before), after: unitsText(after) };
}

function accountLines(
  what: string,
  { address, before, after }: AccountBalances,
): readonly string[] {
  if (before === null || after === null)
    return [`  ${what} ${address}: its balances around the block are not told`];
  const change = after - before;
  return [
    `  ${what} ${address}: ${before} before the block, ${after} after it (${change > 0n ? "+" : ""}${change})`,
  ];
}

/** Base units, 0 to 78 digits. */
function baseUnits(text: string): bigint {
  if (!/^(?:0|[1-9]\d{0,77})$/.test(text))
    throw new InvalidArgumentError("a whole number of base units, such as 990000");
  return BigInt(text);
}

function askChain(config: GatewayConfig): MovedEvidenceReader {
  return async (payment, attempts) => {
    const named = Object.entries(config.chains).find(
      ([, chain]) => chain.network === payment.network,
    );
    if (named === undefined)
      throw new AgentError("NODE_NONE", "none", `no chain is configured for ${payment.network}`);
    const reader = openWatcher({
      chain: named[1],
      readSecretFile,
      log: nodeLog(makeLog("error"), named[0]),
    });
    try {
      return await readMovedEvidence(reader, payment, attempts);
    } finally {
      reader.close();
    }
  };
}
