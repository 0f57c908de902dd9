/**
 * Plays histories of money: the steps go to the gateway one by one, and after each one its figures
 * are compared with those of the model. A step that the steps before it do not allow is left out,
 * so that a history without any of its steps is a history too, and one that fails can be made
 * small.
 */
import type { Fact, Wallet } from "./fact.ts";
import { type Cast, differingFigures, type Figures, type Look, modelFigures } from "./figures.ts";
import { Picture } from "./model.ts";
import type { PlainTransfer } from "./moves.ts";

/** The database of so many facts before takes the place of the newest one. */
export interface Restore {
  readonly fact: "restore";
  readonly back: number;
}

export interface Step {
  readonly act: Fact | Restore | "restart";
  readonly look: Look;
}

/** The gateway that a history is played on. */
export interface Player {
  clear(): void;
  take(fact: Fact): void;
  restart(): void;
  /** Goes back to the state before the newest acts. */
  restore(acts: number): void;
  figures(look: Look): Promise<Figures>;
}

/** The facts up to now, and what these say. */
export class Story {
  readonly #wallets: readonly Wallet[];
  history: readonly Fact[] = [];
  picture: Picture;

  constructor(wallets: readonly Wallet[]) {
    this.#wallets = wallets;
    this.picture = new Picture(wallets, []);
  }

  /** `picture`: what the facts say then, if it is known. */
  add(act: Step["act"], picture?: Picture): void {
    if (act === "restart") return;
    if (act.fact === "restore") this.history = this.history.slice(0, -act.back);
    else this.history = [...this.history, act];
    this.picture = picture ?? new Picture(this.#wallets, this.history);
  }
}

/** The steps up to the first that went apart, and the figures that differ. */
export interface Failure {
  readonly steps: readonly Step[];
  readonly lines: readonly string[];
}

/**
 * Plays the steps, and looks after each; null if all figures agreed.
 * @param pictures what the facts say after each step, where none of the steps is left out
 */
export async function play(
  cast: Cast,
  player: Player,
  steps: readonly Step[],
  pictures: readonly Picture[] = [],
): Promise<Failure | null> {
  const story = new Story(cast.wallets);
  player.clear();
  for (const [at, { act, look }] of steps.entries()) {
    const picture = pictures[at];
    if (picture === undefined && !isPlayable(story, act)) continue;
    story.add(act, picture);
    const lines = await linesAfter(player, act, look, modelFigures(cast, story.picture, look));
    if (lines.length > 0) return { steps: steps.slice(0, at + 1), lines };
  }
  return null;
}

async function linesAfter(
  player: Player,
  act: Step["act"],
  look: Look,
  expected: Figures,
): Promise<readonly string[]> {
  try {
    if (act === "restart") player.restart();
    else if (act.fact === "restore") player.restore(act.back);
    else player.take(act);
    return differingFigures(expected, await player.figures(look));
  } catch (error) {
    return [`the gateway threw ${error instanceof Error ? error.stack : String(error)}`];
  }
}

/** A history that fails alike with as few steps as can be found by leaving out one at a time. */
export async function shrink(cast: Cast, player: Player, failure: Failure): Promise<Failure> {
  let least = failure;
  for (let at = failure.steps.length - 2; at >= 0; at -= 1) {
    const steps = least.steps.filter((_, place) => place !== at);
    const failed = await play(cast, player, steps);
    if (failed !== null) least = failed;
    at = Math.min(at, least.steps.length - 1);
  }
  return least;
}

/** The words of a failure: its steps, and what differed behind the last one. */
export function wordsOf({ steps, lines }: Failure): string {
  const plain = (_: string, value: unknown): unknown =>
    typeof value === "bigint" ? `${value}` : value;
  const acts = steps.map(({ act }, at) => `${at + 1}. ${JSON.stringify(act, plain)}`);
  const period = steps.at(-1)?.look.period ?? null;
  const asked = period === null ? [] : [`period: ${JSON.stringify(period)}`];
  return [...acts, ...asked, ...lines].join("\n");
}

/** True if a step can follow the facts of a story. */
export function isPlayable({ picture, history }: Story, act: Step["act"]): boolean {
  if (act === "restart") return true;
  switch (act.fact) {
    case "restore":
      return act.back >= 1 && act.back <= history.length;
    case "coin":
      return !picture.dependsOnOrder(act);
    case "payment":
      return !picture.isOwn(act);
    case "lost":
      return picture.paymentOf(act) !== undefined;
    case "small":
      return !picture.wouldStraddle(act);
    case "opening":
      return !picture.isStraddled(act);
    case "order":
      return [...picture.transfers.values()].every(
        ({ id, sweep }) => id !== act.id && (act.sweep === "" || sweep !== act.sweep),
      );
    case "own": {
      const topUp = picture.transfers.get(act.id);
      const paid = { network: topUp?.network ?? "", txHash: act.txHash, logIndex: -1 };
      const payment = picture.paymentOf(paid);
      const isSame = payment?.units === topUp?.units && payment?.deposit === topUp?.receiver;
      return topUp?.status === 0 && isSame && !picture.isOwn(paid);
    }
    case "content":
      return picture.transfers.get(act.id)?.status === 0 && !picture.hasOwn(act.id);
    case "receiver":
    case "end":
      return picture.transfers.get(act.id)?.status === 0;
    case "ends":
      return (
        new Set(act.ends.map(({ id }) => id)).size === act.ends.length &&
        act.ends.every(({ id }) => picture.transfers.get(id)?.status === 0)
      );
    case "assigned": {
      const one = picture.transfers.get(act.id);
      return one !== undefined && one.status !== 1 && (one.end?.sent ?? null) === null;
    }
    case "status":
      return canBecome(picture.transfers.get(act.id), act.status) && !picture.hasOwn(act.id);
    default:
      return true;
  }
}

/**
 * Only an order that no block decided fails without one. An order that failed may be open again, a
 * sweep also after its end in a block, but not one of which a person said what it moved.
 */
export function canBecome(transfer: PlainTransfer | undefined, status: 0 | 2): boolean {
  if (transfer === undefined) return false;
  const { kind, status: now, end } = transfer;
  const isDecided = (end?.block ?? null) !== null;
  if (status === 2) return now === 0 && !isDecided;
  return now !== 0 && (kind === "sweep" ? (end?.sent ?? null) === null : !isDecided);
}
