/**
 * `audit` and `alarms`: what operators, keys, agents and the gateway itself did, and what it raised
 * an alarm about. Both read one table, whose rows are only ever added, and change nothing;
 * `alarms done` closes alarms.
 */
import { type Command, CommanderError, InvalidArgumentError } from "commander";
import { adviceOf, dangerOf } from "../../base/causes.ts";
import { type Refusal, refuse } from "../../base/fault.ts";
import { type CsvColumns, peopleSettingNames } from "../answer/csv-cell.ts";
import { closeAlarm, listOpenAlarms } from "../store/alarm.ts";
import { type AuditAct, alarmOf, listActs, type NumberedAct, recordAct } from "../store/audit.ts";
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

const columns: CsvColumns = {
  at: "time",
  actor: "text",
  act: "word",
  about: "text",
  detail: "text",
};
const alarmColumns: CsvColumns = {
  number: "count",
  state: "word",
  at: "time",
  code: "word",
  cause: "word",
  from: "word",
  about: "text",
  detail: "text",
  hint: "text",
};

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

/** An alarm that was closed, or that needs to be named by its own number. */
interface NamedAlarm {
  readonly number: number;
  readonly code: string;
  readonly about: string;
}

/**
 * Closes alarms under an operator's name, all or none: those of `numbers`, or all open ones up to
 * `upTo` of which no money is in danger. Refuses GATEWAY_NO_ALARM if one of the numbers is no open
 * alarm, so a second call is refused.
 * @returns `left` are open alarms up to `upTo` with money in danger
 */
export function closeAlarms(
  by: OperatorContext,
  { numbers, upTo }: { readonly numbers: readonly number[]; readonly upTo: number | null },
  reason: string,
):
  | {
      readonly ok: true;
      readonly closed: readonly NamedAlarm[];
      readonly left: readonly NamedAlarm[];
    }
  | Refusal {
  return by.store.write((database) => {
    const open = new Map(listOpenAlarms(database).map((one) => [one.id, one]));
    const missing = numbers.filter((number) => !open.has(number));
    if (missing.length > 0)
      return refuse("GATEWAY_NO_ALARM", `no open alarm has the number ${missing.join(", ")}`);
    const named = new Set(numbers);
    const meant = [...open.values()].filter(({ id }) =>
      upTo === null ? named.has(id) : id <= upTo,
    );
    if (meant.length === 0) return refuse("GATEWAY_NO_ALARM");
    const isDangerous = ({ act }: AuditAct): boolean => {
      const { code, cause } = alarmOf(act);
      return upTo !== null && dangerOf(code, cause) !== "work";
    };
    const closed = meant.filter((one) => !isDangerous(one));
    for (const { id, subject } of closed) {
      closeAlarm(database, id);
      recordAct(database, {
        at: by.nowMs,
        actor: by.actor,
        act: "closed alarm",
        subject,
        detail: `${id}: ${reason}`,
      });
    }
    const asNamed = ({ id, act, subject }: NumberedAlarm): NamedAlarm => ({
      number: id,
      code: alarmOf(act).code,
      about: subject,
    });
    return { ok: true, closed: closed.map(asNamed), left: meant.filter(isDangerous).map(asNamed) };
  });
}

type NumberedAlarm = AuditAct & { readonly id: number };

/** The options of the list of alarms, which `done` does not take. */
const listOptions = ["since", "until", "about", "limit", "open", "csv"] as const;

function finish(numbers: readonly number[], own: Command): void {
  const { reason, upTo, ...options } = own.optsWithGlobals<DoneOptions>();
  const given = [...listOptions, ...peopleSettingNames].find(
    (name) => own.parent?.getOptionValueSource(name) === "cli",
  );
  if (given !== undefined)
    throw new CommanderError(
      exitStatuses.usage,
      "alarms",
      `--${given} is of the list: done closes the alarms that its numbers name`,
    );
  if (numbers.length > 0 === (upTo !== undefined))
    throw new CommanderError(
      exitStatuses.usage,
      "alarms",
      "name the alarms by their numbers, or all of them up to one by --up-to",
    );
  runInOperatorContext(options, (by) => {
    const done = closeAlarms(by, { numbers, upTo: upTo ?? null }, reason);
    if (!isOkOrPrintsRefusal(done)) return;
    const { closed, left } = done;
    if (options.json === true) printJson({ closed, left });
    else printText([...closed.map(doneLine), ...left.map(leftLine)].join("\n"));
  });
}

const doneLine = ({ number, code, about }: NamedAlarm): string =>
  `done  ${number}  ${code}  about ${about}`;
const leftLine = ({ number, code, about }: NamedAlarm): string =>
  `open  ${number}  ${code}  about ${about}: money may be in danger, so it is closed by its own number alone`;

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
      .option(
        "--up-to <number>",
        "all up to this one of which no money is in danger",
        readAlarmNumber,
      ),
  )
    .requiredOption("--reason <text>", "what was found, for anybody who looks later", readRemark)
    .action((numbers: readonly number[] | undefined, _own: unknown, own: Command) =>
      finish(numbers ?? [], own),
    );
}
