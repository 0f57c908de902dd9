/**
 * `audit` and `alarms`: what operators, keys, agents and the gateway itself did, and what it raised
 * an alarm about. Both read one table, whose rows are only ever added, and change nothing;
 * `alarms done` closes alarms.
 */
import { type Command, CommanderError, InvalidArgumentError } from "commander";
import { adviceOf } from "../../base/causes.ts";
import { type Refusal, refuse } from "../../base/fault.ts";
import { closeAlarm, listOpenAlarmNumbers } from "../store/alarm.ts";
import { alarmOf, listActs, type NumberedAct, recordAct } from "../store/audit.ts";
import { formatTimestamp, type OperatorContext } from "./accounts.ts";
import {
  exitStatuses,
  isOkOrPrintsRefusal,
  type JsonOption,
  printCsv,
  printJson,
  printList,
  printText,
  runInOperatorContext,
} from "./command.ts";
import {
  addActorOptions,
  addConfigAndJsonOptions,
  addCsvOptions,
  type CsvOptions,
  csvTable,
  readMomentOption,
  readRemark,
  readRowCount,
} from "./words.ts";

interface AuditOptions extends JsonOption, CsvOptions {
  readonly since?: number;
  readonly until?: number;
  readonly about?: string;
  readonly by?: string;
  readonly limit: number;
  readonly open?: boolean; // alarms alone
}

const rowsDefault = 50;

const columns = ["at", "actor", "act", "about", "detail"] as const;
const alarmColumns = [
  "number",
  "state",
  "at",
  "code",
  "cause",
  "from",
  "about",
  "detail",
  "hint",
] as const;

const queryOf = (
  { since, until, about, by, limit }: AuditOptions,
  kind: "any" | "alarm" | "open alarm",
) => {
  return { sinceMs: since, untilMs: until, subject: about, actor: by, kind, most: limit };
};

const listedAct = ({ at, actor, act, subject, detail }: NumberedAct) => ({
  at: formatTimestamp(at),
  actor,
  act,
  about: subject,
  detail,
});

/** An alarm with the advice of its code; a code that this version does not know has none. */
function listedAlarm({ id, isOpen, at, actor, act, subject, detail }: NumberedAct) {
  const { code, cause } = alarmOf(act);
  const hint = adviceOf(code, cause);
  return {
    number: id,
    state: isOpen === 1 ? "open" : "done",
    at: formatTimestamp(at),
    code,
    cause,
    from: actor,
    about: subject,
    detail,
    hint,
  };
}

function audit(options: AuditOptions): void {
  const table = csvTable(options);
  runInOperatorContext(options, ({ store }) => {
    const rows = listActs(store.database, queryOf(options, "any")).map(listedAct);
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
    const rows = listActs(
      store.database,
      queryOf(options, options.open === true ? "open alarm" : "alarm"),
    ).map(listedAlarm);
    if (table !== null) printCsv(table, alarmColumns, rows);
    else if (options.json === true) printJson(rows);
    else printList(rows.map(alarmLines), "No alarm is like that.");
  });
}

const alarmLines = ({
  number,
  state,
  at,
  code,
  cause,
  from,
  about,
  detail,
  hint,
}: ReturnType<typeof listedAlarm>): string =>
  `${number}  ${state}  ${at}  ${code}${cause === "" ? "" : ` (${cause})`}  from ${from}, about ${about}\n  ${detail}${hint === "" ? "" : `\n  hint: ${hint}`}`;

interface DoneOptions extends JsonOption {
  readonly reason: string;
  readonly upTo?: number;
}

/**
 * Closes alarms under an operator's name, all or none. Refuses GATEWAY_NO_ALARM if one of the
 * numbers is no open alarm, so a second call is refused.
 */
export function closeAlarms(
  by: OperatorContext,
  { numbers, upTo }: { readonly numbers: readonly number[]; readonly upTo: number | null },
  reason: string,
): { readonly ok: true; readonly closed: readonly number[] } | Refusal {
  return by.store.write((database) => {
    const open = listOpenAlarmNumbers(database);
    const wanted = upTo === null ? [...new Set(numbers)] : open.filter((one) => one <= upTo);
    const missing = wanted.filter((one) => !open.includes(one));
    if (missing.length > 0)
      return refuse("GATEWAY_NO_ALARM", `no open alarm has the number ${missing.join(", ")}`);
    if (wanted.length === 0) return refuse("GATEWAY_NO_ALARM");
    for (const number of wanted) {
      const alarm = closeAlarm(database, number);
      if (alarm === undefined) continue;
      recordAct(database, {
        at: by.nowMs,
        actor: by.actor,
        act: "closed alarm",
        subject: alarm.subject,
        detail: `${number}: ${reason}`,
      });
    }
    return { ok: true, closed: wanted };
  });
}

function finish(numbers: readonly number[], { reason, upTo, ...options }: DoneOptions): void {
  if (numbers.length > 0 === (upTo !== undefined))
    throw new CommanderError(
      exitStatuses.usage,
      "alarms",
      "name the alarms by their numbers, or all of them up to one by --up-to",
    );
  runInOperatorContext(options, (by) => {
    const done = closeAlarms(by, { numbers, upTo: upTo ?? null }, reason);
    if (!isOkOrPrintsRefusal(done)) return;
    if (options.json === true) printJson({ closed: done.closed });
    else printText(`Done: ${done.closed.join(", ")}.`);
  });
}

function readAlarmNumber(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text))
    throw new InvalidArgumentError("a number of the list of alarms");
  return Number(text);
}

const readAlarmNumbers = (
  text: string,
  before: readonly number[] | undefined,
): readonly number[] => [...(before ?? []), readAlarmNumber(text)];

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
  const alarmCommand = program
    .command("alarms")
    .description("what the gateway raised an alarm about, each with the line to type");
  withTimes(alarmCommand).option("--open", "those alone that nobody has dealt with").action(alarms);
  addActorOptions(
    alarmCommand
      .command("done")
      .description("say that alarms are dealt with; status names them no more")
      .argument("[number...]", "as the list names them", readAlarmNumbers)
      .option("--up-to <number>", "all that are open up to this one", readAlarmNumber),
  )
    .requiredOption("--reason <text>", "what was found, for anybody who looks later", readRemark)
    .action((numbers: readonly number[] | undefined, _own: unknown, own: Command) =>
      finish(numbers ?? [], own.optsWithGlobals()),
    );
}
