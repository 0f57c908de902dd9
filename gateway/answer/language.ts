/**
 * Chooses the language of an answer: Accept-Language with its weights, then the merchant's own,
 * then English. Language tags are compared in ASCII only, because locale-aware casing would change
 * a Turkish I into another letter. Source: RFC 9110 section 12.5.4, RFC 4647 section 3.3.1.
 */

export type Language = "en" | "tr";

const headerCharsMax = 512;
const rangesMax = 32;
const weightPattern = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i;

const asciiLower = (text: string): string =>
  text.replace(/[A-Z]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 32));

function weightOf(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const weight = weightPattern.exec(parameter.trim());
    if (weight?.[1] !== undefined) return Number(weight[1]);
  }
  return parameters.length === 0 ? 1 : 0;
}

/**
 * The best language for a header value. Returns `fallback` if the header is absent, too long, or
 * names neither language.
 */
export function languageOf(header: string | undefined, fallback: Language): Language {
  if (header === undefined || header.length > headerCharsMax) return fallback;
  const weights = new Map<string, number>();
  const ranges = header.split(",").slice(0, rangesMax);
  for (const range of ranges) {
    const [tag = "", ...parameters] = range.split(";");
    const name = asciiLower(tag.trim()).split("-")[0] ?? "";
    const weight = weightOf(parameters);
    if (name !== "" && weight > (weights.get(name) ?? -1)) weights.set(name, weight);
  }
  const any = weights.get("*") ?? 0;
  const weightIn = (language: Language): number => weights.get(language) ?? any;
  if (weightIn("en") !== weightIn("tr")) return weightIn("en") > weightIn("tr") ? "en" : "tr";
  if (weightIn("en") === 0) return fallback;
  // The first range wins among equal weights, because the list is one of priority (RFC 4647, 2.3).
  const first = [...weights.keys()].find((name) => name === "en" || name === "tr" || name === "*");
  return first === "en" || first === "tr" ? first : fallback;
}
