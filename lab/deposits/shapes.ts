/**
 * The shapes that deposits come in, and a plan of many by a seed: each shape several times, in an
 * order of chance. A rule here says the end of each shape; its amount is read only from the chain.
 */
import { type Random, shuffled } from "../faults/tally.ts";

/**
 * The kinds of payment: the native coin, its token, the token with a fee, and a token that only
 * has the name.
 */
export type Asset = "coin" | "token" | "fee" | "lookAlike";

/**
 * Payees without a request: an address that nobody knows, and on a chain of tags the first
 * request's address with another tag, or with none.
 */
export type Nobody = "nobody" | "another tag" | "no tag";

/** One payment in a transaction, to the request with this place in its item, or to nobody known. */
export interface Pay {
  readonly asset: Asset;
  readonly permille?: number; // parts in a thousand of the amount asked for; default 1000
  readonly units?: bigint; // instead
  readonly to?: number | Nobody; // 0 unless told
}

/**
 * When a transaction is due: at once, when the record shows this, or just before the request's end.
 */
export type DueMoment = "now" | "partial" | "completed" | "sweeping" | "ending" | "expired";

/** One transaction. */
export interface PlannedTransaction {
  readonly due?: DueMoment;
  readonly pays: readonly Pay[];
  readonly byContract?: boolean; // one that pays everybody in the list
  readonly fails?: boolean; // in a block, without effect
  readonly isVain?: boolean; // has entries of coins to everybody in the list, and moves none
  readonly isPayout?: boolean; // ordered from the paired agent, to the request's address
  readonly isReward?: boolean; // a block's reward, of the chain's own amount
  readonly isPartial?: boolean; // names a far higher amount than it delivers
}

export interface Shape {
  readonly name: string;
  readonly asked: "coin" | "token" | "fee";
  readonly requests?: number; // 1 unless told
  readonly sendings: readonly PlannedTransaction[];
  readonly ends: "completed" | "expired" | "either";
  readonly isLate?: boolean; // money comes after the end
  readonly isOthers?: boolean; // a request of the merchant who has no agent and only receives
}

const all = (asset: Asset, rest: Partial<Pay> = {}): Pay => ({ asset, ...rest });
const dust = { coin: 7n, token: 3n };

/** The same in coin and in token. */
function inBoth(
  name: string,
  ends: Shape["ends"],
  sendings: (asset: "coin" | "token") => readonly PlannedTransaction[],
): readonly Shape[] {
  return (["coin", "token"] as const).map((asked) => ({
    name: `${asked} ${name}`,
    asked,
    sendings: sendings(asked),
    ends,
  }));
}

const late = (shape: Shape): Shape => ({ ...shape, isLate: true });

export const shapes: readonly Shape[] = [
  ...inBoth("exact", "completed", (asset) => [{ pays: [all(asset)] }]),
  ...inBoth("too much", "completed", (asset) => [{ pays: [all(asset, { permille: 1_500 })] }]),
  ...inBoth("in two parts", "completed", (asset) => [
    { pays: [all(asset, { permille: 400 })] },
    { due: "partial", pays: [all(asset, { permille: 600 })] },
  ]),
  ...inBoth("twice", "completed", (asset) => [
    { pays: [all(asset)] },
    { due: "completed", pays: [all(asset)] },
  ]).map(late),
  ...inBoth("more during its sweep", "completed", (asset) => [
    { pays: [all(asset)] },
    { due: "sweeping", pays: [all(asset, { permille: 700 })] },
  ]).map(late),
  ...inBoth("too little", "expired", (asset) => [{ pays: [all(asset, { permille: 600 })] }]),
  ...inBoth("dust", "expired", (asset) => [{ pays: [all(asset, { units: dust[asset] })] }]),
  ...inBoth("late", "expired", (asset) => [{ due: "expired", pays: [all(asset)] }]).map(late),
  ...inBoth("to an unknown address", "expired", (asset) => [
    { pays: [all(asset, { to: "nobody" })] },
  ]),
  ...inBoth("in the other currency", "expired", (asset) => [
    { pays: [all(asset === "coin" ? "token" : "coin")] },
  ]),
  ...inBoth("three in one transaction", "completed", (asset) => [
    { byContract: true, pays: [0, 1, 2].map((to) => all(asset, { to })) },
  ]).map((shape) => ({ ...shape, requests: 3 })),
  ...inBoth("by a contract and by transfer", "completed", (asset) => [
    { byContract: true, pays: [all(asset, { permille: 350 })] },
    { pays: [all(asset, { permille: 650 })] },
  ]),
  ...inBoth("by a contract alone", "completed", (asset) => [
    { byContract: true, pays: [all(asset)] },
  ]),
  ...inBoth("late by a contract", "expired", (asset) => [
    { due: "expired", byContract: true, pays: [all(asset)] },
  ]).map(late),
  ...inBoth("by another merchant's payout", "completed", (asset) => [
    { isPayout: true, pays: [all(asset)] },
  ]).map((shape) => ({
    ...shape,
    isOthers: true,
  })),
  {
    ...{ name: "coin just before the end by a contract", asked: "coin", ends: "either" },
    sendings: [{ due: "ending", byContract: true, pays: [all("coin")] }],
  },
  {
    name: "coin that never moves",
    asked: "coin",
    ends: "expired",
    sendings: [{ isVain: true, pays: [all("coin")] }],
  },
  {
    ...{ name: "coin that never moves, and coin that does", asked: "coin", ends: "completed" },
    sendings: [{ isVain: true, pays: [all("coin")] }, { pays: [all("coin")] }],
  },
  {
    ...{ name: "token twice in one transaction", asked: "token", ends: "completed" },
    sendings: [
      {
        byContract: true,
        pays: [all("token", { permille: 300 }), all("token", { permille: 700 })],
      },
    ],
  },
  {
    ...{ name: "token that fails, and again", asked: "token", ends: "completed" },
    sendings: [{ fails: true, pays: [all("token")] }, { pays: [all("token")] }],
  },
  {
    name: "token of the same name",
    asked: "token",
    ends: "expired",
    sendings: [{ pays: [all("lookAlike")] }],
  },
  {
    name: "token with a fee, short",
    asked: "fee",
    ends: "expired",
    sendings: [{ pays: [all("fee")] }],
  },
  {
    name: "token with a fee, enough",
    asked: "fee",
    ends: "completed",
    sendings: [{ pays: [all("fee", { permille: 1_020 })] }],
  },
];

/** Payments of the native coin by transfer, with one receiver each: every family has them. */
const plainShapes: readonly Shape[] = shapes.filter(({ asked, requests, sendings }) => {
  const isPlain = ({ pays, byContract, isVain }: PlannedTransaction): boolean =>
    byContract !== true && isVain !== true && pays.every(({ asset }) => asset === "coin");
  return asked === "coin" && requests === undefined && sendings.every(isPlain);
});

/** For coins that lie in outputs: a transaction has several, and a block's first one a reward. */
export const outputShapes: readonly Shape[] = [
  ...plainShapes.filter(({ name }) => name !== "coin dust"),
  {
    name: "coin dust",
    asked: "coin",
    ends: "expired",
    // A little more than the least output that both daemons pass on.
    sendings: [{ pays: [all("coin", { units: 3_000n })] }],
  },
  ...shapes.filter(({ name }) => name === "coin three in one transaction"),
  {
    ...{ name: "coin in two outputs of one transaction", asked: "coin", ends: "completed" },
    sendings: [
      { byContract: true, pays: [all("coin", { permille: 300 }), all("coin", { permille: 700 })] },
    ],
  },
  {
    ...{ name: "coin for two in four outputs", asked: "coin", requests: 2, ends: "completed" },
    sendings: [
      {
        byContract: true,
        pays: [300, 450, 700, 550].map((permille, at) => all("coin", { permille, to: at % 2 })),
      },
    ],
  },
  {
    ...{ name: "coin in many outputs just before the end", asked: "coin", ends: "either" },
    sendings: [
      {
        due: "ending",
        byContract: true,
        pays: Array.from({ length: 10 }, () => all("coin", { permille: 100 })),
      },
    ],
  },
  // The chain says how much it is.
  {
    name: "coin as a block's reward",
    asked: "coin",
    ends: "either",
    sendings: [{ isReward: true, pays: [all("coin")] }],
  },
];

/** For deposits that share an address and have a tag each; nothing is swept. */
export const tagShapes: readonly Shape[] = [
  ...plainShapes.filter(({ sendings }) => sendings.every(({ due }) => due !== "sweeping")),
  {
    name: "coin with another tag",
    asked: "coin",
    ends: "expired",
    sendings: [{ pays: [all("coin", { to: "another tag" })] }],
  },
  {
    name: "coin without a tag",
    asked: "coin",
    ends: "expired",
    sendings: [{ pays: [all("coin", { to: "no tag" })] }],
  },
  {
    ...{ name: "coin without a tag, then with it", asked: "coin", ends: "completed" },
    sendings: [{ pays: [all("coin", { to: "no tag" })] }, { pays: [all("coin")] }],
  },
  {
    name: "coin that arrives in part",
    asked: "coin",
    ends: "completed",
    sendings: [{ isPartial: true, pays: [all("coin")] }],
  },
  {
    ...{ name: "coin that arrives in too small a part", asked: "coin", ends: "expired" },
    sendings: [{ isPartial: true, pays: [all("coin", { permille: 400 })] }],
  },
  {
    name: "token with the tag",
    asked: "coin",
    ends: "expired",
    sendings: [{ pays: [all("lookAlike")] }],
  },
  {
    ...{ name: "token with the tag, then coin", asked: "coin", ends: "completed" },
    sendings: [{ pays: [all("lookAlike")] }, { pays: [all("coin")] }],
  },
  {
    ...{ name: "coin just before the end", asked: "coin", ends: "either" },
    sendings: [{ due: "ending", pays: [all("coin")] }],
  },
];

/** Bounds of the amount asked for, in base units. */
export interface Range {
  readonly least: bigint;
  readonly most: bigint;
}

export interface ShapedDeposit {
  readonly shape: Shape;
  readonly askedUnits: bigint;
}

export function shareOf(units: bigint, permille: number): bigint {
  return (units * BigInt(permille)) / 1_000n;
}

/**
 * So many requests, as near as the shapes allow, never fewer. Each shape comes before any comes
 * again; what has to wait for its request's end is begun first.
 */
export function planOf(
  random: Random,
  requests: number,
  asked: Readonly<Partial<Record<Shape["asked"], Range>>>,
  taken: readonly Shape[],
): readonly ShapedDeposit[] {
  const items: ShapedDeposit[] = [];
  let count = 0;
  for (let round: readonly Shape[] = []; count < requests; round = round.slice(1)) {
    if (round.length === 0) round = shuffled(random, taken);
    const shape = round[0] as Shape;
    const range = asked[shape.asked];
    if (range === undefined) throw new Error(`nothing says how much ${shape.name} asks for`);
    const { least, most } = range;
    // The shares of a shape, in parts of a thousand, make up the amount asked for.
    const askedUnits =
      ((least + BigInt(Math.floor(random() * Number(most - least)))) / 1_000n) * 1_000n;
    items.push({ shape, askedUnits });
    count += shape.requests ?? 1;
  }
  const isLate = ({ shape }: ShapedDeposit): boolean =>
    shape.sendings.some(({ due }) => due === "expired");
  return [...items.filter(isLate), ...items.filter((item) => !isLate(item))];
}

/** Shapes that end by themselves, without a request's time being over. */
export function untimed(all: readonly Shape[]): readonly Shape[] {
  return all.filter(({ ends }) => ends === "completed");
}
