/**
 * The card of the bench: the figures that a user of the product feels, by name, each with its
 * median over the rounds and, where one says more, with the median of its ratio to another figure
 * of the same round.
 */
import type { ActsFigures } from "./acts.ts";
import { rows, type UserRound } from "./card-rows.ts";
import { median, rounded } from "./figures.ts";

export interface CardFigure {
  readonly value: number;
  readonly unit: string;
  readonly ratio?: number;
  readonly to?: string; // the figure that the ratio divides by
}

export type Card = Readonly<Record<string, CardFigure>>;

export const cardNames: readonly string[] = Object.keys(rows);

/** A figure that not each round has is left out; so is a ratio. */
export function cardOf(rounds: readonly UserRound[]): Card {
  return Object.fromEntries(
    Object.entries(rows).flatMap(([name, { unit, digits, value, to }]) => {
      const values = rounds.flatMap((round) => value(round) ?? []);
      if (values.length < rounds.length) return [];
      const figure = { value: rounded(median(values), digits), unit };
      const ratios = rounds.flatMap((round, at) => {
        const base = to?.value(round);
        return base === undefined ? [] : [(values[at] ?? 0) / base];
      });
      if (to === undefined || ratios.length < rounds.length) return [[name, figure]];
      return [[name, { ...figure, ratio: rounded(median(ratios), 2), to: to.says }]];
    }),
  );
}

/** The medians of necessary acts, by name, in microseconds a payout. */
export function actsOfRounds(rounds: readonly ActsFigures[]): Readonly<Record<string, number>> {
  const names = Object.keys(rounds[0]?.acts ?? {});
  return Object.fromEntries(
    names.map((name) => [name, rounded(median(rounds.map(({ acts }) => acts[name] ?? 0)), 2)]),
  );
}

const worded = (name: string, { value, unit, ratio, to }: CardFigure) => ({
  figure: rows[name]?.says ?? name,
  value: `${value.toLocaleString("en-US", { maximumFractionDigits: 3 })}${unit.startsWith("/") ? unit : ` ${unit}`}`,
  ratio: ratio === undefined ? "" : `${ratio.toFixed(2)} times ${to}`,
});

/** The card as lines for people. */
export function describeCard(card: Card): string {
  return Object.entries(card)
    .map(([name, figure]) => worded(name, figure))
    .map(({ figure, value, ratio }) =>
      `${figure.padEnd(54)}${value.padStart(18)}   ${ratio}`.trimEnd(),
    )
    .join("\n");
}

/** The card as the table of docs/performance.md. */
export function markdownOf(card: Card): string {
  const lines = Object.entries(card).map(([name, figure]) => {
    const { figure: says, value, ratio } = worded(name, figure);
    return `| ${says} | ${value} | ${ratio === "" ? "–" : ratio} |`;
  });
  return ["| figure | value | ratio |", "|---|---:|---|", ...lines].join("\n");
}
