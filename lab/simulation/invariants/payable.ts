/** The merchant's limits of hour and day, held against signed bytes that can still be paid. */
import type { PolicySettings } from "../../../agent/config/settings.ts";
import { payableWithin, type SignedBytes } from "../../kit/signed-bytes.ts";
import { Violation } from "./violation.ts";

/** A decimal text in base units. */
export function unitsIn(text: string, decimal: number): bigint {
  const [whole = "0", part = ""] = text.split(".");
  return BigInt(whole + part.padEnd(decimal, "0"));
}

/** All attempts of one currency that were ever signed. */
export function withinWindows(
  signed: readonly SignedBytes[],
  { maxPerHour, maxPerDay }: PolicySettings,
  decimal: number,
): void {
  const perHour = maxPerHour === undefined ? null : unitsIn(maxPerHour, decimal);
  try {
    payableWithin(signed, { perHour, perDay: unitsIn(maxPerDay, decimal) });
  } catch (error) {
    const all = signed.map(
      ({ units, signedAt, validUntilMs }) => `${units} at ${signedAt} until ${validUntilMs}`,
    );
    throw new Violation((error as Error).message, all.join());
  }
}
