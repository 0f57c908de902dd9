/**
 * The limits in force as text in the ledger, one line for each currency, and the comparison with
 * another such text. A change of config.json changes these lines, so an operator sees each loosened
 * limit and the gateway receives a digest. Touches nothing.
 */
import { createHash } from "node:crypto";
import { familyOf } from "../../../chains/families.ts";
import { formatAmount } from "../../../protocol/amount.ts";
import { assetOf } from "../policy/job-terms.ts";
import type { Limits, Rules } from "../policy/rules.ts";

type Line = ReadonlyMap<string, string>;

const none = "none";
/** A higher value allows more; "none" allows everything. */
const ceilings = [
  "maxPerWithdrawal",
  "maxPerHour",
  "maxPerDay",
  "holdAbove",
  "twoApproversAbove",
  "manualReplaceAbove",
  "newDestinationAbove",
];
const feeCeilings = ["maxFee", "maxFeePerDay"];
/** Another value means another thing, so no change of it counts as tighter. */
const meanings = ["network", "contract", "decimal"];

/**
 * Returns a line for each currency with limits, ordered by name, and a line each for its sweeps and
 * top-ups. Amounts are in base units, lists are shown by length and hash.
 */
export function canonicalLimits({
  assets,
  limits,
}: Pick<Rules, "assets" | "limits">): readonly string[] {
  return [...limits.keys()].sort().flatMap((currency) => {
    const asset = assetOf({ assets }, currency);
    const own = limits.get(currency);
    if (asset === undefined || own === undefined) return [];
    const { network, contract, decimal } = asset;
    return [
      textOf([
        ["currency", currency],
        ["network", network],
        ["contract", contract],
        ["decimal", decimal],
        ...fieldsOf(own),
      ]),
    ];
  });
}

/** Returns the digest of such lines, which the gateway receives. */
export function limitsDigest(lines: readonly string[]): string {
  return createHash("sha256")
    .update(`autowithdraw/1 limits\n${lines.join("\n")}`)
    .digest("hex");
}

/** Returns one sentence for each limit that allows more than before; empty if none does. */
export function listLoosened(before: readonly string[], now: readonly string[]): readonly string[] {
  const old = new Map(before.map((text) => [lineOf(text).get("currency") ?? "", lineOf(text)]));
  const found = new Map<string, readonly LooserLimit[]>();
  for (const text of now) {
    const line = lineOf(text);
    const limitGroup = line.get("currency") ?? "";
    const known = old.get(limitGroup);
    const looser =
      known === undefined
        ? [{ name: "", says: `${limitGroup} is payable, and was not` }]
        : loosenedIn(limitGroup, known, line);
    found.set(limitGroup, looser);
  }
  return [...found].flatMap(([limitGroup, looser]) =>
    looser.filter((each) => !follows(limitGroup, each, found)).map(({ says }) => says),
  );
}

/** A limit that allows more than before, with a sentence about it. */
interface LooserLimit {
  readonly name: string;
  readonly says: string;
}

/**
 * A fee limit of withdrawals is also the default limit of sweeps and top-ups, so one sentence
 * covers both.
 */
const followed: Readonly<Record<string, string>> = {
  maxPerWithdrawal: "maxFee",
  maxPerDay: "maxFeePerDay",
};

function follows(
  limitGroup: string,
  { name }: LooserLimit,
  found: ReadonlyMap<string, readonly LooserLimit[]>,
): boolean {
  const [currency = "", kind] = limitGroup.split(":");
  if (kind === undefined) return false;
  const theirs = found.get(currency) ?? [];
  return theirs.some((each) => each.name === name || each.name === followed[name]);
}

function loosenedIn(limitGroup: string, old: Line, now: Line): readonly LooserLimit[] {
  const found: LooserLimit[] = [];
  const say = (name: string, decimal: number): void => {
    const [is, was] = [now, old].map((line) => amountWords(line.get(name), decimal));
    found.push({ name, says: `${limitGroup} ${name} ${is}, was ${was}` });
  };
  const tell = (name: string, words: string): void => {
    found.push({ name, says: `${limitGroup} ${words}` });
  };
  for (const name of meanings)
    if (now.get(name) !== old.get(name)) tell(name, `${name} is another`);
  const decimal = Number(now.get("decimal"));
  const { fees } = familyOf(now.get("network") ?? "");
  for (const name of ceilings) if (isAbove(now.get(name), old.get(name))) say(name, decimal);
  for (const name of feeCeilings)
    if (isAbove(now.get(name), old.get(name))) say(name, fees.decimal);
  if (isAbove(now.get("maxTip"), old.get("maxTip"))) say("maxTip", fees.tipDecimal);
  if (isAbove(old.get("delayMs"), now.get("delayMs")))
    tell("delayMs", "newDestination.delayMinutes is shorter");
  // A list that was empty before can only have become tighter.
  for (const name of ["allow", "deny"])
    if (old.get(name) !== "0" && now.get(name) !== old.get(name))
      tell(name, `${name} is another list`);
  return found;
}

function fieldsOf(limits: Limits): readonly (readonly [string, string | bigint | number | null])[] {
  return [
    ["maxPerWithdrawal", limits.maxPerWithdrawalUnits],
    ["maxPerHour", limits.maxPerHourUnits],
    ["maxPerDay", limits.maxPerDayUnits],
    ["maxFee", limits.maxFeeUnits],
    ["maxFeePerDay", limits.maxFeePerDayUnits],
    ["maxTip", limits.maxTipUnits],
    ["holdAbove", limits.holdAboveUnits],
    ["twoApproversAbove", limits.twoApproversAboveUnits],
    // Left out if there is none, so that the text of an older ledger stays the same.
    ...(limits.manualReplaceAboveUnits === null
      ? []
      : ([["manualReplaceAbove", limits.manualReplaceAboveUnits]] as const)),
    ["newDestinationAbove", limits.newDestination?.holdAboveUnits ?? null],
    ["delayMs", limits.newDestination?.delayMs ?? 0],
    ["allow", listText(limits.allow)],
    ["deny", listText(limits.deny)],
  ];
}

function listText(addresses: ReadonlySet<string>): string {
  if (addresses.size === 0) return "0";
  const hash = createHash("sha256")
    .update([...addresses].sort().join("\n"))
    .digest("hex");
  return `${addresses.size}:${hash}`;
}

function textOf(fields: readonly (readonly [string, string | bigint | number | null])[]): string {
  return fields.map(([name, value]) => `${name}=${value ?? none}`).join(" ");
}

function lineOf(text: string): Line {
  return new Map(
    text
      .split(" ")
      .map((field) => [field.slice(0, field.indexOf("=")), field.slice(field.indexOf("=") + 1)]),
  );
}

function isAbove(a = none, b = none): boolean {
  if (b === none) return false;
  return a === none || BigInt(a) > BigInt(b);
}

function amountWords(units = none, decimal: number): string {
  return units === none ? "without limit" : formatAmount(BigInt(units), decimal);
}
