/**
 * `rows`: stored rows that a bug or a fault kept from being shown, told or judged, and their next
 * try.
 */
import type { Command } from "commander";
import { type Refusal, refuse } from "../../base/fault.ts";
import { commandOfEnd } from "../../base/state-end.ts";
import { recordAct } from "../store/audit.ts";
import { keepUnjudgedCurrency } from "../store/meta.ts";
import { type AsideRow, forgetAside, listAside } from "../store/set-aside.ts";
import { readTransaction } from "../store/transactions.ts";
import { formatTimestamp, type OperatorContext } from "./accounts.ts";
import {
  isOkOrPrintsRefusal,
  type JsonOption,
  printJson,
  printList,
  printText,
  runInOperatorContext,
} from "./command.ts";
import { gatewayStateEnds } from "./state-ends.ts";
import { addActorOptions, addConfigAndJsonOptions } from "./words.ts";

/**
 * Has rows tried again: `kind/id` as the list names one, or an id with all that is aside for it.
 * Refuses GATEWAY_UNKNOWN_ROW.
 */
export function retryRows(
  by: OperatorContext,
  name: string,
): { readonly ok: true; readonly rows: readonly AsideRow[] } | Refusal {
  return by.store.write((database) => {
    const rows = forgetAside(database, name);
    if (rows.length === 0) return refuse("GATEWAY_UNKNOWN_ROW");
    for (const { kind, id, about } of rows) {
      recordAct(database, {
        at: by.nowMs,
        actor: by.actor,
        act: "row tried again",
        subject: about,
        detail: `${kind}/${id}`,
      });
      const deposit = kind === "judgement" ? readTransaction(database, id) : undefined;
      // No payment need come for the watcher to judge it again.
      if (deposit !== undefined) keepUnjudgedCurrency(database, deposit.network, deposit.currency);
    }
    return { ok: true, rows };
  });
}

const listed = ({ kind, id, about, code, stack, at }: AsideRow) => ({
  row: `${kind}/${id}`,
  about,
  code,
  at: formatTimestamp(at),
  stack,
});

function list(options: JsonOption): void {
  runInOperatorContext(options, ({ store }) => {
    const rows = listAside(store.database).map(listed);
    if (options.json === true) {
      printJson(rows);
      return;
    }
    const lines = rows.map(({ row, about, code, at, stack }) =>
      [
        `${row}  ${code}  set aside ${at}`,
        `  ${stack.split("\n", 1)[0] ?? ""}`,
        `  look: autowithdraw-gateway find ${about}; once it is corrected: ${commandOfEnd(gatewayStateEnds.aside.record, { NAME: row })}`,
      ].join("\n"),
    );
    printList(lines, "No row is set aside.");
  });
}

function retry(name: string, options: JsonOption): void {
  runInOperatorContext(options, (by) => {
    const tried = retryRows(by, name);
    if (!isOkOrPrintsRefusal(tried)) return;
    const rows = tried.rows.map(({ kind, id }) => `${kind}/${id}`);
    if (options.json === true) printJson({ rows });
    else printText(`Tried again when it is met next: ${rows.join(", ")}.`);
  });
}

export function addRowCommands(program: Command): void {
  const rows = program
    .command("rows")
    .alias("row")
    .description("stored rows that are set aside because of a bug");
  addConfigAndJsonOptions(
    rows.command("list", { isDefault: true }).description("all of them, with the error of each"),
  ).action(list);
  addActorOptions(
    rows
      .command("retry")
      .description("have one tried again, after an update")
      .argument("<name>", "as the list names it"),
  ).action(retry);
}
