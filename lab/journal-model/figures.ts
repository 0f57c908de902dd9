/**
 * The figures that the model and the gateway are compared by, each a text under a name. The model's
 * side is here; the gateway's is made in world.ts, under the same names.
 */
import type { Place, Wallet } from "./fact.ts";
import type { Picture } from "./model.ts";

export interface ModelCurrency {
  readonly id: string;
  readonly network: string;
  readonly isCoin: boolean; // pays the fees
  readonly maxFee: bigint; // in units of the coin: the most that one transfer may cost
}

/** The addresses and currencies of a history. */
export interface Cast {
  readonly wallets: readonly Wallet[];
  readonly currencies: readonly ModelCurrency[];
}

/** A look asks for all accounts of the networks at the blocks. */
export interface Look {
  readonly networks: readonly string[];
  readonly blocks: readonly number[];
  readonly period: LookPeriod | null;
  /** Every row is read again, and not only what has changed. */
  readonly isLast: boolean;
}

/** The blocks after `before` and up to `last`. */
export interface LookPeriod {
  readonly network: string;
  readonly merchant: string | null; // null: of all merchants
  readonly before: number;
  readonly last: number;
}

/** Texts of `name=value` by the name of an account, a balance or a sum; what is 0 may be absent. */
export type Figures = ReadonlyMap<string, string>;

type Values = Readonly<Record<string, bigint | number | string | null | undefined>>;

/** The figures as text, without those that are nothing. */
export function textOfFigures(values: Values): string {
  let text = "";
  for (const [name, value] of Object.entries(values))
    if (value !== null && value !== undefined && `${value}` !== "0") text += ` ${name}=${value}`;
  return text;
}

/** The part of a cast that plays on some networks, with the accounts that its wallets can have. */
export interface PlayingCast extends Cast {
  readonly places: readonly (Place & { readonly wallet: Wallet; readonly name: string })[];
}

const playing = new WeakMap<Cast, Map<string, PlayingCast>>();

/** The part of a cast that plays on some networks. */
export function castOn(cast: Cast, networks: readonly string[]): PlayingCast {
  const known = playing.get(cast) ?? new Map<string, PlayingCast>();
  playing.set(cast, known);
  const name = networks.join();
  const part = known.get(name) ?? partOf(cast, networks);
  known.set(name, part);
  return part;
}

function partOf(cast: Cast, networks: readonly string[]): PlayingCast {
  const wallets = cast.wallets.filter(({ network }) => networks.includes(network));
  const currencies = cast.currencies.filter(({ network }) => networks.includes(network));
  const places = wallets.flatMap((wallet) =>
    currencies
      .filter(({ network }) => network === wallet.network)
      .map(({ id: currency, network }) => {
        const place = { network, address: wallet.address, currency };
        return { ...place, wallet, name: textOfPlace(place) };
      }),
  );
  return { wallets, currencies, places };
}

export const textOfPlace = ({ network, address, currency }: Place): string =>
  `${network} ${address} ${currency}`;

/** Every figure of the model. */
export function modelFigures(all: Cast, picture: Picture, look: Look): Figures {
  const cast = castOn(all, look.networks);
  const figures = new Map<string, string>();
  const set = (name: string, text: string): void => {
    if (text !== "") figures.set(name, text);
  };
  const fees = new Map(cast.currencies.map(({ id, maxFee }) => [id, maxFee]));
  const feeOf = (currency: string): bigint => fees.get(currency) ?? 0n;
  for (const place of cast.places) set(place.name, accountText(picture, place, look));
  for (const { network, id } of cast.currencies)
    set(`sides ${network} ${id}`, textOfFigures(sorted(picture.farSides(network, id))));
  for (const [name, units] of picture.standing()) set(`standing ${name}`, textOfFigures({ units }));
  for (const hot of cast.wallets.filter(({ kind }) => kind === "hot")) {
    const promised = sorted(picture.promised(hot.network, hot.address));
    set(`promised ${hot.network} ${hot.address}`, textOfFigures(promised));
    for (const currency of cast.currencies)
      if (currency.network === hot.network)
        set(
          `balance ${hot.merchant} ${currency.id}`,
          textOfFigures({ ...picture.balanceOf(hot, currency, feeOf) }),
        );
  }
  if (look.period === null) return figures;
  const { network, merchant, before, last } = look.period;
  const ids = cast.currencies.filter((one) => one.network === network).map(({ id }) => id);
  for (const [name, line] of picture.periodOf({ network, merchant }, ids, before, last))
    set(`period ${name}`, textOfFigures({ ...line }));
  return figures;
}

/** The values by their names, in the order of these. */
export const sorted = (values: ReadonlyMap<string, bigint>): Readonly<Record<string, bigint>> =>
  Object.fromEntries([...values].sort(([one], [other]) => (one < other ? -1 : 1)));

/** The figures of an account. */
export interface AccountFigures {
  readonly units: bigint | string;
  readonly held: bigint | string;
  readonly settled: number; // -1 without a note
  readonly opened: number | null;
  unitsAt(block: number): bigint;
  /**
   * The explained balance at the end of a block, with the sums that reach beyond it or without
   * these; null for a hot wallet.
   */
  readonly explainedAt: ((block: number, hasSums: boolean) => bigint) | null;
}

export function textOfAccount(account: AccountFigures, blocks: readonly number[]): string {
  const { units, held, settled, opened } = account;
  let text = textOfFigures({ units, held, settled: settled + 1, opened });
  for (const block of blocks) {
    const at = account.unitsAt(block);
    if (at !== 0n) text += ` at${block}=${at}`;
  }
  // Each second block, because each answer costs several statements.
  for (let at = 0; account.explainedAt !== null && at < blocks.length; at += 2) {
    const block = blocks[at] as number;
    const explained = account.explainedAt(block, at % 4 === 0);
    if (explained !== 0n) text += ` explained${block}=${explained}`;
  }
  return text;
}

function accountText(
  picture: Picture,
  place: Place & { readonly wallet: Wallet; readonly name: string },
  { blocks }: Look,
): string {
  const opened = picture.openings.get(place.name)?.block ?? null;
  const [held, settled] = [picture.heldOf(place), picture.settledAt(place)];
  if (opened === null && held === 0n && settled < 0 && !picture.hasMoves(place)) return "";
  return textOfAccount(
    {
      units: picture.unitsOf(place),
      held,
      settled,
      opened,
      unitsAt: (block) => picture.unitsAt(place, block),
      explainedAt:
        place.wallet.kind === "hot"
          ? null
          : (block, hasSums) => picture.explainedAt(place, block, hasSums),
    },
    blocks,
  );
}

/** The figures that differ, each as a line; empty if all agree. */
export function differingFigures(model: Figures, product: Figures): readonly string[] {
  const lines: string[] = [];
  for (const [name, should] of model) {
    const is = product.get(name) ?? "";
    if (is !== should) lines.push(`${name}:${is || " nothing"}, should be${should}`);
  }
  for (const [name, is] of product)
    if (!model.has(name)) lines.push(`${name}:${is}, should be nothing`);
  return lines;
}
