/**
 * `faults`: items of the chains that cannot be read or judged now, with their merchants, and the
 * next try of one, and the end of a gap that nobody can fill. Everything else goes on meanwhile.
 * Reads the table that the running gateway keeps.
 */
import type { Command } from "commander";
import { type Refusal, refuse } from "../../base/fault.ts";
import { endWords } from "../../base/state-end.ts";
import { hasTags } from "../../chains/payees.ts";
import { type Domain, domains } from "../faults/domains.ts";
import { recordAct } from "../store/audit.ts";
import { askRetry, type FaultRow, listFaults } from "../store/faults.ts";
import { giveUp } from "../store/gap-holds.ts";
import { askGap, type GapKey, readGap } from "../store/gaps.ts";
import { askRereadIn } from "../store/unread-transactions.ts";
import { dateOf, type Operator } from "./accounts.ts";
import { allowed, asOperator, type JsonOption, print, printJson, printList } from "./command.ts";
import { gatewayEnds } from "./state-ends.ts";
import { acting, remark } from "./words.ts";

/** The name of a fault as the list shows it: one word. */
export function nameOf({
  domain,
  network,
  id,
}: Pick<FaultRow, "domain" | "network" | "id">): string {
  return [domain, network, ...id.split(" ")].join("/");
}

/** The name of all accounts in a gap's id. */
const everybody = "*";

/** Has an item tried again by the running gateway. Refuses GATEWAY_UNKNOWN_FAULT. */
export function retryFault(by: Operator, name: string): { readonly ok: true } | Refusal {
  return by.store.write((database) => {
    const row = listFaults(database).find((one) => nameOf(one) === name);
    if (row === undefined || !askRetry(database, row)) return refuse("GATEWAY_UNKNOWN_FAULT");
    if (row.domain === "history") askGap(database, gapIn(row));
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

/**
 * Gives up a gap that no node will ever fill: attempts are judged, and balances are compared, which
 * credits what lies on an address without a name. A request that lived in the gap is held until its
 * own balance was compared; the gap's row goes with the last one. Harmless to call twice. Refuses
 * GATEWAY_UNKNOWN_FAULT, and, unless `isByHand`, GATEWAY_GAP_TAGGED where tags tell requests apart:
 * no balance is of one tag, so an operator credits or releases each request that is held.
 */
export function giveUpGap(
  by: Operator,
  name: string,
  reason: string,
  isByHand = false,
): { readonly ok: true } | Refusal {
  return by.store.write((database) => {
    const row = listFaults(database).find(
      (one) => nameOf(one) === name && one.domain === "history",
    );
    if (row !== undefined && hasTags(row.network) && !isByHand) return refuse("GATEWAY_GAP_TAGGED");
    if (row === undefined || !giveUp(database, gapIn(row), by.nowMs))
      return refuse("GATEWAY_UNKNOWN_FAULT");
    recordAct(database, {
      at: by.nowMs,
      actor: by.actor,
      act: "gap given up",
      subject: name,
      detail: reason,
    });
    return { ok: true };
  });
}

const listed = (by: Operator, row: FaultRow) => ({
  fault: nameOf(row),
  domain: row.domain,
  network: row.network,
  merchantId: row.merchant,
  code: row.code,
  words: row.words,
  since: dateOf(row.since),
  costs: costsOf(row),
  ends: endsOf(by, row),
});

function costsOf({ domain }: FaultRow): string {
  return Object.hasOwn(domains, domain) ? domains[domain as Domain].costs : "";
}

/** What ends it, with the fault's own name in the line to type. */
function endsOf({ store }: Operator, row: FaultRow): string {
  const { domain } = row;
  const isGivenUp =
    domain === "history" && (readGap(store.database, gapIn(row))?.givenUpAt ?? null) !== null;
  if (isGivenUp)
    return endWords(hasTags(row.network) ? gatewayEnds.gaps.held : gatewayEnds.gaps.given_up);
  return Object.hasOwn(gatewayEnds.faults, domain)
    ? endWords(gatewayEnds.faults[domain as Domain], { NAME: nameOf(row) })
    : "";
}

interface FaultsOptions extends JsonOption {
  readonly merchant?: string;
  readonly retry?: string;
  readonly giveUp?: string;
  readonly byHand?: boolean;
  readonly reason?: string;
}

function faults(options: FaultsOptions): void {
  asOperator(options, (by) => {
    if (options.retry !== undefined) {
      if (!allowed(retryFault(by, options.retry))) return;
      if (options.json === true) printJson({ fault: options.retry });
      else print(`Tried again in the gateway's next look at the chain: ${options.retry}.`);
      return;
    }
    if (options.giveUp !== undefined) {
      if (!allowed(giveUpGap(by, options.giveUp, options.reason ?? "", options.byHand === true)))
        return;
      if (options.json === true) printJson({ fault: options.giveUp });
      else print(`Given up: ${options.giveUp}. ${givenUpWords(options.byHand === true)}`);
      return;
    }
    const all = listFaults(by.store.database).filter(
      ({ merchant }) => (options.merchant ?? merchant) === merchant,
    );
    if (options.json === true) {
      printJson(all.map((row) => listed(by, row)));
      return;
    }
    const lines = all
      .map((row) => listed(by, row))
      .map(({ fault, code, since, words, costs, ends, merchantId }) => {
        const of = merchantId === "" ? "" : `  of ${merchantId}`;
        return `${fault}  ${code}  since ${since}${of}  ${words}; it costs ${costs}; it ${ends}`;
      });
    printList(lines, "Nothing is unread.");
  });
}

function givenUpWords(isByHand: boolean): string {
  return isByHand
    ? "Requests that lived in it are held until each is credited or released: deposits list --held."
    : "Requests that lived in it are held until their balances were compared; what lies there counts.";
}

export function addFaultCommand(program: Command): void {
  const words =
    "addresses, hot wallets, currencies, payouts and transactions that cannot be read now; all others go on";
  acting(program.command("faults").description(words))
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
    .option("--reason <text>", "why, for anybody who looks later", remark)
    .action(faults);
}
