/** `callbacks …`: its commands, their output and their exit status. */
import { type Command, CommanderError, InvalidArgumentError } from "commander";
import { type EventType, eventTypes } from "../callbacks/events.ts";
import { createCallbackSender } from "../callbacks/send.ts";
import { formatTimestamp } from "./accounts.ts";
import {
  addCallback,
  type CallbackLine,
  callbackDeliveries,
  type DeliveryView,
  listCallbacks,
  oldSecretHours,
  redeliverAll,
  redeliverCallback,
  removeCallback,
  rotateCallback,
  testCallback,
} from "./callbacks.ts";
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
import { addActorOptions, readMomentOption } from "./words.ts";

function eventList(text: string): readonly EventType[] {
  const wanted = text.split(",").map((part) => part.trim());
  const unknown = wanted.find((part) => !(eventTypes as readonly string[]).includes(part));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`known events: ${eventTypes.join(", ")}`);
  return wanted as EventType[];
}

const countMax = 10_000;
function wholeNumber(text: string): number {
  const count = /^[1-9]\d{0,14}$/.test(text) ? Number(text) : 0;
  if (count === 0) throw new InvalidArgumentError("a whole number above zero");
  return count;
}

/** Adds the commands to the program's tree. */
export function addCallbackCommands(
  program: Command,
  withBoth: (command: Command) => Command,
): void {
  const callbacks = program
    .command("callbacks")
    .alias("callback")
    .description("who is told of events by HTTP");
  addActorOptions(
    callbacks.command("add").description("tell a merchant's server; prints the secret, once"),
  )
    .requiredOption("--merchant <id>", "whose")
    .requiredOption("--url <url>", "https address that takes a POST")
    .option("--events <list>", "only these, with commas between; all unless told", eventList, [])
    .action(add);
  withBoth(
    callbacks
      .command("list", { isDefault: true })
      .description("all of them, or one merchant's; never a secret"),
  )
    .option("--merchant <id>", "whose")
    .action(list);
  addActorOptions(
    callbacks.command("test").description("send a test event now").argument("<callbackId>"),
  ).action(test);
  addActorOptions(
    callbacks
      .command("rotate")
      .description("make another secret; both sign for a day")
      .argument("<callbackId>"),
  ).action(rotate);
  withBoth(
    callbacks
      .command("deliveries")
      .description("what was sent, how often, and how it was answered"),
  )
    .option("--merchant <id>", "whose")
    .option("--callback <id>", "to which target")
    .option("--limit <n>", "so many, the newest first", wholeNumber, 20)
    .action(deliveries);
  addActorOptions(
    callbacks
      .command("redeliver")
      .description("send one again, or all of a target that did not arrive"),
  )
    .argument("[delivery]", "its number", wholeNumber)
    .option(
      "--callback <id>",
      "all that wait for this target or were given up, in the place of one",
    )
    .option("--since <time>", "of these, only events since then, in UTC", readMomentOption)
    .action(again);
  addActorOptions(
    callbacks.command("remove").description("end one, permanently").argument("<callbackId>"),
  ).action(remove);
}

interface AddOptions extends JsonOption {
  readonly merchant: string;
  readonly url: string;
  readonly events: readonly EventType[];
}

function add(options: AddOptions): void {
  const { merchant, url, events } = options;
  runInOperatorContext(options, (by, config) => {
    const added = addCallback(by, { merchant, url, events }, config.callbacks);
    if (!isOkOrPrintsRefusal(added)) return;
    const { callbackId, secret } = added;
    if (options.json === true) printJson({ callbackId, secret });
    else
      printText(
        `callbackId  ${callbackId}\nsecret      ${secret}\nThis is the only time the secret is shown. Next: callbacks test`,
      );
  });
}

function list(options: JsonOption & { readonly merchant?: string }): void {
  runInOperatorContext(options, (by) => {
    if (!isOkOrPrintsRefusal(checkRecordFilter(by, options))) return;
    const lines = listCallbacks(by, options.merchant);
    if (options.json === true) printJson(lines);
    else printList(lines.map(targetText), "No callback target has been added yet.");
  });
}

function targetText(line: CallbackLine): string {
  const isOn = line.pausedAt === "" ? "on" : `paused by the shop ${line.pausedAt}`;
  const state = line.offAt === "" ? isOn : `switched off ${line.offAt}, it answered 410`;
  const last =
    line.triedAt === "" ? "never tried" : `last answer ${line.status || "none"} at ${line.triedAt}`;
  return [
    `${line.callbackId}  ${state}  ${line.merchant} (${line.merchantId})`,
    `  ${line.url}`,
    `  ${line.events.length === 0 ? "all events" : line.events.join(",")}`,
    `  waiting ${line.waiting}, given up ${line.givenUp}, ${last}`,
    ...(line.givenUp === 0
      ? []
      : [`  next: callbacks redeliver --callback ${line.callbackId} sends them again`]),
    ...(line.twoSecretsUntil === "" ? [] : [`  two secrets sign until ${line.twoSecretsUntil}`]),
  ].join("\n");
}

async function test(callbackId: string, options: JsonOption): Promise<void> {
  await runInOperatorContext(options, async (by, config) => {
    const callbackSender = createCallbackSender({
      settings: config.callbacks,
      monotonic: () => performance.now(),
    });
    const tested = await testCallback(by, callbackId, callbackSender);
    if (!isOkOrPrintsRefusal(tested)) return;
    const { sent, taken, switchedOn } = tested;
    const { status, durationMs, answer } = sent;
    process.exitCode = taken ? exitStatuses.fine : exitStatuses.no;
    if (options.json === true) {
      printJson({ callbackId, taken, status, durationMs, answer, switchedOn });
      return;
    }
    const how =
      status === 0
        ? `No answer after ${durationMs} ms: ${answer}`
        : `Answered ${status} after ${durationMs} ms.`;
    printText(`${how}${switchedOn ? "\nIt is switched on again." : ""}`);
  });
}

function rotate(callbackId: string, options: JsonOption): void {
  runInOperatorContext(options, (by) => {
    const rotated = rotateCallback(by, callbackId);
    if (!isOkOrPrintsRefusal(rotated)) return;
    const { secret, oldValidUntil } = rotated;
    if (options.json === true) printJson({ callbackId, secret, oldValidUntil });
    else
      printText(
        `secret  ${secret}\nThis is the only time it is shown. Both secrets sign for ${oldSecretHours} h, until ${oldValidUntil}.`,
      );
  });
}

interface DeliveriesOptions extends JsonOption {
  readonly merchant?: string;
  readonly callback?: string;
  readonly limit: number;
}

function deliveries(options: DeliveriesOptions): void {
  const { merchant, callback: target, limit } = options;
  runInOperatorContext(options, (by) => {
    if (!isOkOrPrintsRefusal(checkRecordFilter(by, options))) return;
    const of = {
      ...(merchant === undefined ? {} : { merchant }),
      ...(target === undefined ? {} : { target }),
    };
    const views = callbackDeliveries(by, of, Math.min(limit, countMax));
    if (options.json === true) printJson(views);
    else printList(views.map(deliveryText), "Nothing was sent in the last 60 days.");
  });
}

function deliveryText(view: DeliveryView): string {
  const next = view.nextAt === "" ? "" : `, next try ${view.nextAt}`;
  const head = `${view.delivery}  ${view.type}  ${view.state}${next}  ${view.callbackId}`;
  const about = view.transactionId === "" ? "a test" : `transaction ${view.transactionId}`;
  const tries = view.tries.map(({ at, status, durationMs, answer }) => {
    const words = answer.replace(/\s+/g, " ").trim().slice(0, 60);
    return `  ${at}  ${status === 0 ? "no answer" : status}  ${durationMs} ms  ${words}`.trimEnd();
  });
  return [head, `  ${about}, sequence ${view.sequence}, at ${view.at}`, ...tries].join("\n");
}

interface AgainOptions extends JsonOption {
  readonly callback?: string;
  readonly since?: number;
}

function again(delivery: number | undefined, options: AgainOptions): void {
  const { callback: target, since } = options;
  if ((delivery === undefined) === (target === undefined))
    throw new CommanderError(
      exitStatuses.usage,
      "delivery",
      "give a delivery's number, or --callback with a target's id",
    );
  if (target !== undefined) againAll(target, since ?? 0, options);
  else if (since !== undefined)
    throw new CommanderError(exitStatuses.usage, "since", "--since needs --callback");
  else if (delivery !== undefined) againOne(delivery, options);
}

function againAll(target: string, sinceMs: number, options: JsonOption): void {
  runInOperatorContext(options, (by) => {
    const done = redeliverAll(by, target, sinceMs);
    if (!isOkOrPrintsRefusal(done)) return;
    const { again: deliveries, left } = done;
    if (options.json === true) {
      printJson({
        callbackId: target,
        since: sinceMs === 0 ? "" : formatTimestamp(sinceMs),
        deliveries,
        left,
      });
      return;
    }
    const more =
      left === 0
        ? ""
        : `\n${left} more stay given up, because too many wait; give the command again when these arrived.`;
    printText(
      `${deliveries} deliveries to ${target} are sent again by the running gateway, the ends of money first.${more}`,
    );
  });
}

function againOne(delivery: number, options: JsonOption): void {
  runInOperatorContext(options, (by) => {
    if (!isOkOrPrintsRefusal(redeliverCallback(by, delivery))) return;
    if (options.json === true) printJson({ delivery, waiting: true });
    else printText(`Delivery ${delivery} is sent again by the running gateway.`);
  });
}

function remove(callbackId: string, options: JsonOption): void {
  runInOperatorContext(options, (by) => {
    const removed = removeCallback(by, callbackId);
    if (!isOkOrPrintsRefusal(removed)) return;
    if (options.json === true)
      printJson({ callbackId, removed: true, recordsGivenUp: removed.givenUp });
    else
      printText(
        `Removed ${callbackId}. Records whose callbacks were given up: ${removed.givenUp}.`,
      );
  });
}
