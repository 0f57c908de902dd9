/**
 * `merchant page`: a merchant's settings for the payment page. They are the name to show, where a
 * customer writes to, and the sites that may embed the page and take the customer back. Each change
 * is one transaction with a line in the audit table, and a running gateway shows it at its next
 * request.
 */
import { type Command, InvalidArgumentError } from "commander";
import { type Refusal, refuse } from "../../base/fault.ts";
import { originOf } from "../config/origin.ts";
import { recordAct } from "../store/audit.ts";
import { type MerchantPage, readMerchant, setMerchantPage } from "../store/merchants.ts";
import type { OperatorContext } from "./accounts.ts";
import {
  isOkOrPrintsRefusal,
  type JsonOption,
  printJson,
  printText,
  runInOperatorContext,
} from "./command.ts";
import { addActorOptions } from "./words.ts";

const originsMax = 16;

export interface MerchantPageLine {
  readonly shownName: string; // "" shows the merchant's name
  readonly contact: string; // "" none
  readonly origins: readonly string[];
}

export const parseMerchantPageRow = ({
  shownName,
  contact,
  origins,
}: MerchantPage): MerchantPageLine => ({
  shownName,
  contact,
  origins: origins === "" ? [] : origins.split(" "),
});

/** A change: a field that is left out stays. */
export type MerchantPageChange = Partial<MerchantPageLine>;

/** Changes the settings. Harmless to call twice. Refuses GATEWAY_UNKNOWN_MERCHANT. */
export function changeMerchantPage(
  by: OperatorContext,
  id: string,
  change: MerchantPageChange,
): { readonly ok: true; readonly page: MerchantPageLine } | Refusal {
  return by.store.write((database) => {
    const row = readMerchant(database, id);
    if (row === undefined) return refuse("GATEWAY_UNKNOWN_MERCHANT");
    const page = { ...parseMerchantPageRow(row), ...change };
    const kept = { ...page, origins: [...new Set(page.origins)].slice(0, originsMax).join(" ") };
    if (Object.keys(change).length > 0) {
      setMerchantPage(database, id, kept);
      recordAct(database, {
        at: by.nowMs,
        actor: by.actor,
        act: "merchant page",
        subject: id,
        detail: JSON.stringify(change),
      });
    }
    return { ok: true, page: parseMerchantPageRow(kept) };
  });
}

/** One line; "" if nothing is set. */
export function describeMerchantPage({ shownName, contact, origins }: MerchantPageLine): string {
  const parts = [
    shownName === "" ? "" : `shown as ${shownName}`,
    contact === "" ? "" : `senders write to ${contact}`,
    origins.length === 0 ? "" : `sites ${origins.join(" ")}`,
  ];
  return parts.filter((part) => part !== "").join(", ");
}

/** "" gives the setting up. */
function shownName(text: string): string {
  if (!/^[^\p{C}]{0,64}$/u.test(text))
    throw new InvalidArgumentError("at most 64 visible characters");
  return text.trim();
}

function contact(text: string): string {
  const isPage = originOf(text) !== null && !/[\s\p{C}]/u.test(text);
  const isMail = /^[^\s\p{C}@<>",;:]{1,64}@[a-z0-9-]+(?:\.[a-z0-9-]+)+$/iu.test(text);
  if (text !== "" && (text.length > 254 || !(isPage || isMail)))
    throw new InvalidArgumentError("an e-mail address, or a page that begins with https://");
  return text;
}

function origin(text: string, before: readonly string[] = []): readonly string[] {
  const read = originOf(text);
  if (read === null || read !== text.replace(/\/$/, ""))
    throw new InvalidArgumentError("a site such as https://shop.example.com, without a path");
  return [...before, read];
}

interface PageOptions extends JsonOption {
  readonly shownName?: string;
  readonly contact?: string;
  readonly origin?: readonly string[];
  readonly origins: boolean; // false after --no-origins
}

function page(id: string, options: PageOptions): void {
  const { shownName, contact, origin = options.origins ? undefined : [] } = options;
  const change: MerchantPageChange = {
    ...(shownName === undefined ? {} : { shownName }),
    ...(contact === undefined ? {} : { contact }),
    ...(origin === undefined ? {} : { origins: origin }),
  };
  runInOperatorContext(options, (by) => {
    const changed = changeMerchantPage(by, id, change);
    if (!isOkOrPrintsRefusal(changed)) return;
    if (options.json === true) printJson({ merchantId: id, ...changed.page });
    else
      printText(
        describeMerchantPage(changed.page) ||
          `${id} shows its name on the payment page, and nothing else is set.`,
      );
  });
}

export function addMerchantPageCommand(merchant: Command): void {
  addActorOptions(
    merchant
      .command("page")
      .description("what senders see of one: name, contact, its own sites")
      .argument("<merchantId>"),
  )
    .option("--shown-name <name>", 'the name to show; "" shows its name', shownName)
    .option(
      "--contact <address>",
      'where senders write to: an e-mail address or a page; "" nowhere',
      contact,
    )
    .option(
      "--origin <site>",
      "may embed the page and take the customer back; again for each, in the place of those before",
      origin,
    )
    .option("--no-origins", "none may")
    .action(page);
}
