/**
 * Money and times as a reader of the page's language writes them. Amounts of coins stay as a wallet
 * takes them, with a point, because a customer copies them.
 */
import type { Language } from "../answer/language.ts";

const localeOf: Readonly<Record<Language, string>> = { en: "en-GB", tr: "tr-TR" };
const priceDigitsMax = 8;

/** A format costs some hundred times more to make than to use, and a page uses three. */
const moments: Readonly<Record<Language, Intl.DateTimeFormat>> = {
  en: momentFormat("en"),
  tr: momentFormat("tr"),
};

function momentFormat(language: Language): Intl.DateTimeFormat {
  const options = { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" } as const;
  return new Intl.DateTimeFormat(localeOf[language], options);
}

/** A sum of fiat money by a decimal string, exact at any length. */
export function fiatText(language: Language, amount: string, currency: string): string {
  const [, fraction = ""] = amount.split(".");
  const digits = Math.min(priceDigitsMax, Math.max(2, fraction.length));
  const options = {
    style: "currency",
    currency,
    minimumFractionDigits: 2,
    maximumFractionDigits: digits,
  } as const;
  const format = new Intl.NumberFormat(localeOf[language], options) as unknown as {
    format(value: string): string;
  };
  return format.format(amount);
}

/** A moment in UTC, with the zone's name. */
export function timeText(language: Language, atMs: number): string {
  return `${moments[language].format(atMs)} UTC`;
}
