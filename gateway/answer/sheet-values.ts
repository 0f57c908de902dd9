/**
 * Numbers and times as a spreadsheet takes them for numbers and dates: pure. Digits of money are
 * rounded as text and whole units, never as floating point.
 */
import { formatAmount } from "../../protocol/amount.ts";

const decimalText = /^(-?)(0|[1-9][0-9]{0,77})(?:\.([0-9]{1,36}))?$/;

/**
 * A decimal text with at most `decimal` (0 … 36) fraction digits, to the nearest, a half away from
 * zero, without trailing zeros, never in exponent notation. Null for a text of another form.
 */
export function roundDecimal(text: string, decimal: number): string | null {
  const [, sign, whole, fraction = ""] = decimalText.exec(text) ?? [];
  if (whole === undefined) return null;
  const kept = BigInt(whole + fraction.slice(0, decimal).padEnd(decimal, "0"));
  const units = kept + (fraction.charAt(decimal) >= "5" ? 1n : 0n);
  return `${units === 0n ? "" : sign}${formatAmount(units, decimal)}`;
}

/** Names alone: newer versions of Node would take an offset such as +03:00 as well. */
const zoneName = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/;

/** True for a time zone that this machine knows, in any case. Source: IANA, Time Zone Database. */
export function isTimeZone(name: string): boolean {
  if (!zoneName.test(name)) return false;
  try {
    return Intl.DateTimeFormat("en-US", { timeZone: name }) !== null;
  } catch {
    return false;
  }
}

/** A spreadsheet has no dates before 1900, and none with five digits in the year. */
const timeText = /^[1-9]\d{3}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

/**
 * Makes the writer of times in a zone that `isTimeZone` takes: `2026-11-29 10:52:11` for ISO 8601
 * in UTC with milliseconds, which are cut. Null for a text of another form. The writer of a table
 * is made once, because making it takes fifty times as long as using it.
 */
export function sheetTimeWriter(timeZone: string): (text: string) => string | null {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    calendar: "gregory",
    numberingSystem: "latn",
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
  return (text) => {
    const at = timeText.test(text) ? Date.parse(text) : Number.NaN;
    if (Number.isNaN(at)) return null;
    const [month, day, year, hour, minute, second] = format.format(at).match(/\d+/g) ?? [];
    return year?.length === 4 ? `${year}-${month}-${day} ${hour}:${minute}:${second}` : null;
  };
}
