/**
 * `audit` and `alarms`: what operators, keys, agents and the gateway itself did, and what it raised
 * an alarm about. Both read one table, whose rows are only ever added. Change nothing.
 */
import type { Command } from "commander";
import { adviceOf } from "../../base/causes.ts";
import { type AuditAct, alarmOf, listActs } from "../store/audit.ts";
import { formatTimestamp } from "./accounts.ts";
import {
  type JsonOption,
  printCsv,
  printJson,
  printList,
  runInOperatorContext,
} from "./command.ts";
import {
  addConfigAndJsonOptions,
  addCsvOptions,
  type CsvOptions,
  csvTable,
  readMomentOption,
  readRowCount,
} from "./words.ts";

interface AuditOptions extends JsonOption, CsvOptions {
  readonly since?: number;
  readonly until?: number;
  readonly about?: string;
  readonly by?: string;
  readonly limit: number;
}

const rowsDefault = 50;

const columns = ["at", "actor", "act", "about", "detail"] as const;
const alarmColumns = ["at", "code", "cause", "from", "about", "detail", "hint"] as const;

const queryOf = ({ since, until, about, by, limit }: AuditOptions, isAlarm: boolean) => {
  return { sinceMs: since, untilMs: until, subject: about, actor: by, isAlarm, most: limit };
};

const listedAct = ({ at, actor, act, subject, detail }: AuditAct) => ({
  at: formatTimestamp(at),
  actor,
  act,
  about: subject,
  detail,
});

/** An alarm with the advice of its code; a code that this version does not know has none. */
function listedAlarm({ at, actor, act, subject, detail }: AuditAct) {
  const { code, cause } = alarmOf(act);
  const hint = adviceOf(code, cause);
  return { at: formatTimestamp(at), code, cause, from: actor, about: subject, detail, hint };
}

function audit(options: AuditOptions): void {
  const table = csvTable(options);
  runInOperatorContext(options, ({ store }) => {
    const rows = listActs(store.database, queryOf(options, false)).map(listedAct);
    if (table !== null) printCsv(table, columns, rows);
    else if (options.json === true) printJson(rows);
    else printList(rows.map(actLine), "Nothing like that was done.");
  });
}

const actLine = ({ at, actor, act, about, detail }: ReturnType<typeof listedAct>): string =>
  `${at}  ${actor}: ${act}  ${about}${detail === "" ? "" : `: ${detail}`}`;

function alarms(options: AuditOptions): void {
  const table = csvTable(options);
  runInOperatorContext(options, ({ store }) => {
    const rows = listActs(store.database, queryOf(options, true)).map(listedAlarm);
    if (table !== null) printCsv(table, alarmColumns, rows);
    else if (options.json === true) printJson(rows);
    else printList(rows.map(alarmLines), "No alarm is like that.");
  });
}

const alarmLines = ({
  at,
  code,
  cause,
  from,
  about,
  detail,
  hint,
}: ReturnType<typeof listedAlarm>): string =>
  `${at}  ${code}${cause === "" ? "" : ` (${cause})`}  from ${from}, about ${about}\n  ${detail}${hint === "" ? "" : `\n  hint: ${hint}`}`;

function withTimes(command: Command): Command {
  return addCsvOptions(addConfigAndJsonOptions(command))
    .option("--since <time>", "at this time or later, in UTC", readMomentOption)
    .option("--until <time>", "before this time, in UTC", readMomentOption)
    .option("--about <id>", "of this transaction, merchant, key, agent or address alone")
    .option("--limit <number>", "how many, the newest first", readRowCount, rowsDefault);
}

export function addAuditCommands(program: Command): void {
  withTimes(
    program.command("audit").description("what operators, keys and agents did, alarms among it"),
  )
    .option("--by <text>", "of those alone whose name has this text")
    .action(audit);
  withTimes(
    program
      .command("alarms")
      .description("what the gateway raised an alarm about, each with the line to type"),
  ).action(alarms);
}
