/**
 * `faults`: items of the chains that cannot be read or judged now, with their merchants, and the
 * next try of one, and the end of a gap that nobody can fill. Everything else goes on meanwhile.
 * Reads the table that the running gateway keeps.
 */
import { type Command, CommanderError } from "commander";
import { type Refusal, refuse } from "../../base/fault.ts";
import { endWords } from "../../base/state-end.ts";
import { hasTags } from "../../chains/payees.ts";
import { type FaultDomain, faultDomains } from "../faults/domains.ts";
import { recordAct } from "../store/audit.ts";
import { type FaultRow, listFaults, requestFaultRetry } from "../store/faults.ts";
import { countDepositsHeldByGap, markGapGivenUp } from "../store/gap-holds.ts";
import { type GapKey, readGap, retryGapSoon } from "../store/gaps.ts";
import { askRereadIn } from "../store/unread-transactions.ts";
import { formatTimestamp, type OperatorContext } from "./accounts.ts";
import {
  exitStatuses,
  isOkOrPrintsRefusal,
  type JsonOption,
  printJson,
  printList,
  printText,
  runInOperatorContext,
} from "./command.ts";
import { checkRecordFilter } from "./named.ts";
import { gatewayStateEnds } from "./state-ends.ts";
import { addActorOptions, describeNextPass, readRemark } from "./words.ts";

/** The name of a fault as the list shows it: one word. */
export function nameOfFault({
  domain,
  network,
  id,
}: Pick<FaultRow, "domain" | "network" | "id">): string {
  return [domain, network, ...id.split(" ")].join("/");
}

/** The name of all accounts in a gap's id. */
const everybody = "*";

/**
 * Has an item tried again by the running gateway. Harmless to call twice. Refuses
 * GATEWAY_UNKNOWN_FAULT, and GATEWAY_GAP_GIVEN_UP for a gap whose blocks are asked for no more.
 */
export function retryFault(by: OperatorContext, name: string): { readonly ok: true } | Refusal {
  return by.store.write((database) => {
    const row = listFaults(database).find((one) => nameOfFault(one) === name);
    if (row === undefined) return refuse("GATEWAY_UNKNOWN_FAULT");
    if (isGivenUp(by, row)) return refuse("GATEWAY_GAP_GIVEN_UP");
    requestFaultRetry(database, row);
    if (row.domain === "history") retryGapSoon(database, gapIn(row));
    if (row.domain === "transaction")
      askRereadIn(database, row.network, Number(row.id.split(" ")[0]));
    recordAct(database, {
      at: by.nowMs,
      actor: by.actor,
      act: "fault tried again",
      subject: name,
      detail: row.code,
    });
    return { ok: true };
  });
}

/** The gap that a fault of the domain `history` names. */
function gapIn({ network, id }: Pick<FaultRow, "network" | "id">): GapKey {
  const [account = "", fromBlock = ""] = id.split(" ");
  return { network, account: account === everybody ? "" : account, fromBlock: Number(fromBlock) };
}

function isGivenUp(
  { store }: OperatorContext,
  row: Pick<FaultRow, "domain" | "network" | "id">,
): boolean {
  return (
    row.domain === "history" && (readGap(store.database, gapIn(row))?.givenUpAt ?? null) !== null
  );
}

/** A given-up gap: the requests that it holds, and whether only an operator ends each hold. */
interface GivenUp {
  readonly ok: true;
  readonly held: number;
  readonly isByHand: boolean;
}

/**
 * Gives up a gap that no node will ever fill: attempts are judged, and balances are compared, which
 * credits what lies on an address without a name. A request that lived in the gap is held until its
 * own balance was compared; the gap's row goes with the last one. Harmless to call twice. Refuses
 * GATEWAY_UNKNOWN_FAULT, and, unless `isByHand`, GATEWAY_GAP_TAGGED where tags tell requests apart:
 * no balance is of one tag, so an operator credits or releases each request that is held.
 */
export function giveUpGap(
  by: OperatorContext,
  name: string,
  reason: string,
  isByHand = false,
): GivenUp | Refusal {
  return by.store.write((database): GivenUp | Refusal => {
    const row = listFaults(database).find((one) => nameOfFault(one) === name);
    if (row === undefined) return refuse("GATEWAY_UNKNOWN_FAULT");
    if (row.domain !== "history")
      return refuse(
        "GATEWAY_UNKNOWN_FAULT",
        `${name} is no gap of blocks: only a name that begins with history is given up`,
      );
    const isTagged = hasTags(row.network);
    if (isTagged && !isByHand) return refuse("GATEWAY_GAP_TAGGED");
    if (!markGapGivenUp(database, gapIn(row), by.nowMs)) return refuse("GATEWAY_UNKNOWN_FAULT");
    recordAct(database, {
      at: by.nowMs,
      actor: by.actor,
      act: "gap given up",
      subject: name,
      detail: reason,
    });
    return { ok: true, held: countDepositsHeldByGap(database, gapIn(row)), isByHand: isTagged };
  });
}

const listed = (by: OperatorContext, row: FaultRow) => ({
  fault: nameOfFault(row),
  domain: row.domain,
  network: row.network,
  merchantId: row.merchant,
  code: row.code,
  words: row.words,
  since: formatTimestamp(row.since),
  costs: costsOf(row),
  ends: endsOf(by, row),
});

function costsOf({ domain }: FaultRow): string {
  return Object.hasOwn(faultDomains, domain) ? faultDomains[domain as FaultDomain].costs : "";
}

/** The end of a fault, with its names in the line to type. */
function endsOf(by: OperatorContext, row: FaultRow): string {
  const { domain, network, id } = row;
  const isTagged = hasTags(network);
  if (isGivenUp(by, row))
    return endWords(isTagged ? gatewayStateEnds.gaps.held : gatewayStateEnds.gaps.given_up);
  if (!Object.hasOwn(gatewayStateEnds.faults, domain)) return "";
  const name = nameOfFault(row);
  // Where several blocks share a row, no hash is known: the fault's own name does the same.
  const [, hash = ""] = id.split(" ");
  const end =
    domain === "transaction" && hash === "?"
      ? gatewayStateEnds.faults.withdrawal
      : gatewayStateEnds.faults[domain as FaultDomain];
  return endWords(end, {
    NAME: domain === "history" && isTagged ? `${name} --by-hand` : name,
    HASH: hash,
  });
}

interface FaultsOptions extends JsonOption {
  readonly merchant?: string;
  readonly retry?: string;
  readonly giveUp?: string;
  readonly byHand?: boolean;
  readonly reason?: string;
}

/**
 * An option that does nothing by itself would look like an act that was done.
 * @throws CommanderError for options that do not go together
 */
function assertOneAct({ retry, giveUp, byHand, reason, merchant }: FaultsOptions): void {
  const stop = (words: string): never => {
    throw new CommanderError(exitStatuses.usage, "faults", words);
  };
  if (retry !== undefined && giveUp !== undefined)
    stop("--retry and --give-up are two acts: type one of them");
  if (giveUp !== undefined && reason === undefined) stop("--give-up needs --reason TEXT");
  if (giveUp === undefined && byHand === true) stop("--by-hand needs --give-up NAME");
  if (giveUp === undefined && reason !== undefined) stop("--reason needs --give-up NAME");
  if (merchant !== undefined && (retry ?? giveUp) !== undefined)
    stop("--merchant is for the list alone");
}

function faults(options: FaultsOptions): void {
  assertOneAct(options);
  runInOperatorContext(options, (by) => {
    if (options.retry !== undefined) retry(by, options.retry, options);
    else if (options.giveUp !== undefined) end(by, options.giveUp, options);
    else list(by, options);
  });
}

function retry(by: OperatorContext, name: string, { json }: JsonOption): void {
  if (!isOkOrPrintsRefusal(retryFault(by, name))) return;
  if (json === true) printJson({ fault: name });
  else printText(`Tried again ${describeNextPass(by.run)}: ${name}.`);
}

function end(
  by: OperatorContext,
  name: string,
  { json, reason = "", byHand }: FaultsOptions,
): void {
  const given = giveUpGap(by, name, reason, byHand === true);
  if (!isOkOrPrintsRefusal(given)) return;
  if (json === true) printJson({ fault: name, held: given.held });
  else printText(`Given up: ${name}. ${givenUpWords(given)}`);
}

function list(by: OperatorContext, { json, merchant }: FaultsOptions): void {
  if (!isOkOrPrintsRefusal(checkRecordFilter(by, { merchant }))) return;
  const rows = listFaults(by.store.database)
    .filter((row) => (merchant ?? row.merchant) === row.merchant)
    .map((row) => listed(by, row));
  if (json === true) {
    printJson(rows);
    return;
  }
  const lines = rows.map(({ fault, code, since, words, costs, ends, merchantId }) => {
    const of = merchantId === "" ? "" : `  of ${merchantId}`;
    return `${fault}  ${code}  since ${since}${of}  ${words}; it costs ${costs}; it ${ends}`;
  });
  printList(lines, "Nothing is unread.");
}

function givenUpWords({ held, isByHand }: GivenUp): string {
  const are =
    held === 1
      ? "1 request that lived in it is held"
      : `${held} requests that lived in it are held`;
  return isByHand
    ? `${are} until each is credited or released: deposits list --held.`
    : `${are} until the balance of each was compared; what lies there counts.`;
}

export function addFaultCommand(program: Command): void {
  const words =
    "addresses, hot wallets, currencies, payouts and transactions that cannot be read now; all others go on";
  addActorOptions(program.command("faults").description(words))
    .option("--merchant <id>", "only this merchant's")
    .option("--retry <fault>", "have one tried now, as the list names it")
    .option(
      "--give-up <fault>",
      "end a gap of blocks that no node will ever have, as the list names it",
    )
    .option(
      "--by-hand",
      "on XRP, where no balance is of one tag: credit or release each request that is held then",
    )
    .option("--reason <text>", "why, for anybody who looks later", readRemark)
    .action(faults);
}
