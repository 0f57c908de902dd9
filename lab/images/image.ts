/**
 * Damage by a disk, a crash or a careless hand to a ledger's folder: cuts, flipped bits, holes,
 * records exchanged, doubled, moved and removed, files gone, exchanged or from an earlier day. Each
 * image names what was done, so that it can be made again.
 */
import { invariant } from "../../base/fault.ts";
import type { SeededRandom } from "../kit/seeded.ts";
import type { Moment, Story } from "./story.ts";

export interface Image {
  readonly moment: Moment;
  readonly name: string;
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** The place that the fault must name, if it stops the start and there is one right answer. */
  readonly line?: number;
}

type Changes = Readonly<Record<string, Uint8Array | null>>;

const newline = 0x0a;

export function segmentFile(segment: number): string {
  return `${String(segment).padStart(8, "0")}.jsonl`;
}

export function checkpointFile(segment: number): string {
  return `checkpoint-${String(segment).padStart(8, "0")}.bin`;
}

export function bytesOf(moment: Moment, file: string): Uint8Array {
  const bytes = moment.files.get(file);
  invariant(bytes !== undefined, `the folder has ${file}`);
  return bytes;
}

/** Lines of a file with their newlines; kept, since every image of a moment asks again. */
const lines = new WeakMap<Uint8Array, readonly Uint8Array[]>();

export function linesOf(bytes: Uint8Array): readonly Uint8Array[] {
  const known = lines.get(bytes);
  if (known !== undefined) return known;
  const found: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(newline, start) + 1 || bytes.length;
    found.push(bytes.subarray(start, end));
    start = end;
  }
  lines.set(bytes, found);
  return found;
}

function changed(moment: Moment, name: string, changes: Changes, line?: number): Image {
  const files = new Map(moment.files);
  for (const [file, bytes] of Object.entries(changes)) {
    if (bytes === null) files.delete(file);
    else files.set(file, bytes);
  }
  return { moment, name, files, ...(line === undefined ? {} : { line }) };
}

export function flip(moment: Moment, file: string, bit: number): Image {
  const bytes = new Uint8Array(bytesOf(moment, file));
  bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7));
  return changed(
    moment,
    `${file} bit ${bit} flipped`,
    { [file]: bytes },
    lineAt(bytesOf(moment, file), bit >> 3),
  );
}

/** 1-based number of the line that a byte belongs to. */
function lineAt(bytes: Uint8Array, at: number): number {
  return Math.min(linesOf(bytes.subarray(0, at + 1)).length, linesOf(bytes).length);
}

export function cut(moment: Moment, file: string, size: number): Image {
  return changed(moment, `${file} cut to ${size} bytes`, {
    [file]: bytesOf(moment, file).subarray(0, size),
  });
}

/** `length` bytes from `start` as a disk leaves them that never wrote them. */
export function hole(moment: Moment, file: string, start: number, length: number): Image {
  const bytes = new Uint8Array(bytesOf(moment, file));
  bytes.fill(0, start, start + length);
  return changed(moment, `${file} zero from ${start} for ${length}`, { [file]: bytes });
}

export function overwrite(moment: Moment, file: string, start: number, by: Uint8Array): Image {
  const bytes = new Uint8Array(bytesOf(moment, file));
  bytes.set(by.subarray(0, bytes.length - start), start);
  return changed(
    moment,
    `${file} overwritten from ${start} by ${Buffer.from(by).toString("hex")}`,
    { [file]: bytes },
  );
}

export function append(moment: Moment, file: string, more: Uint8Array): Image {
  const name = `${file} followed by ${Buffer.from(more).toString("hex").slice(0, 80)}`;
  return changed(moment, name, { [file]: Buffer.concat([bytesOf(moment, file), more]) });
}

/** A record by its file and its place in it, from 0. */
export interface Place {
  readonly file: string;
  readonly index: number;
}

export function placesOf(moment: Moment): readonly Place[] {
  const places: Place[] = [];
  for (let segment = 1; segment <= moment.segment; segment++) {
    const file = segmentFile(segment);
    for (const index of linesOf(bytesOf(moment, file)).keys()) places.push({ file, index });
  }
  return places;
}

function edited(
  moment: Moment,
  name: string,
  edit: (lines: Map<string, Uint8Array[]>) => void,
): Image {
  const all = new Map<string, Uint8Array[]>();
  for (let segment = 1; segment <= moment.segment; segment++) {
    all.set(segmentFile(segment), [...linesOf(bytesOf(moment, segmentFile(segment)))]);
  }
  edit(all);
  const changes: Record<string, Uint8Array> = {};
  for (const [file, each] of all) {
    const bytes = Buffer.concat(each);
    if (!bytes.equals(bytesOf(moment, file))) changes[file] = bytes;
  }
  return changed(moment, name, changes);
}

const named = ({ file, index }: Place): string => `${file} line ${index + 1}`;

export function exchange(moment: Moment, one: Place, other: Place): Image {
  return edited(moment, `${named(one)} and ${named(other)} exchanged`, (all) => {
    const first = all.get(one.file) as Uint8Array[];
    const second = all.get(other.file) as Uint8Array[];
    const held = first[one.index] as Uint8Array;
    first[one.index] = second[other.index] as Uint8Array;
    second[other.index] = held;
  });
}

/** `what` once more, before the line that stands at `at`. */
export function double(moment: Moment, what: Place, at: Place): Image {
  return edited(moment, `${named(what)} again before ${named(at)}`, (all) => {
    const line = all.get(what.file)?.[what.index] as Uint8Array;
    all.get(at.file)?.splice(at.index, 0, line);
  });
}

export function move(moment: Moment, what: Place, at: Place): Image {
  return edited(moment, `${named(what)} moved to ${named(at)}`, (all) => {
    const taken = all.get(what.file)?.splice(what.index, 1) ?? [];
    all.get(at.file)?.splice(at.index, 0, ...taken);
  });
}

export function remove(moment: Moment, from: Place, count: number): Image {
  return edited(moment, `${named(from)} and ${count - 1} more removed`, (all) =>
    all.get(from.file)?.splice(from.index, count),
  );
}

/** The lines of one file in another order. */
export function shuffle(moment: Moment, file: string, random: SeededRandom): Image {
  return edited(moment, `${file} in another order`, (all) => {
    const list = all.get(file) as Uint8Array[];
    for (let at = list.length - 1; at > 0; at--) {
      const other = random.below(at + 1);
      [list[at], list[other]] = [list[other] as Uint8Array, list[at] as Uint8Array];
    }
  });
}

export function withoutFile(moment: Moment, file: string): Image {
  return changed(moment, `${file} removed`, { [file]: null });
}

export function exchangeFiles(moment: Moment, one: string, other: string): Image {
  return changed(moment, `${one} and ${other} exchanged`, {
    [one]: bytesOf(moment, other),
    [other]: bytesOf(moment, one),
  });
}

/** One file as an earlier moment had it. */
export function fileFrom(moment: Moment, earlier: Moment, file: string): Image {
  return changed(moment, `${file} from record ${earlier.head.seq}`, {
    [file]: bytesOf(earlier, file),
  });
}

/** The whole folder as an earlier moment had it; the gateway goes on where it is. */
export function rolledBack(moment: Moment, earlier: Moment): Image {
  return { moment, name: `the folder from record ${earlier.head.seq}`, files: earlier.files };
}

/** The newest segments from `segment` on gone, their checkpoints left. */
export function withoutSegments(moment: Moment, segment: number): Image {
  const changes: Record<string, null> = {};
  for (let each = segment; each <= moment.segment; each++) changes[segmentFile(each)] = null;
  return changed(moment, `segments ${segment} to ${moment.segment} removed`, changes);
}

type Draw = (moment: Moment, random: SeededRandom, story: Story) => Image;

/**
 * Somewhere in the newest segment, nearer to its end as often as not: there is where writes are
 * lost.
 */
function somewhere(bytes: Uint8Array, random: SeededRandom): number {
  const size = Math.max(1, bytes.length);
  return random.chance(2) ? random.below(size) : size - 1 - random.below(Math.min(size, 2_048));
}

const newest = (moment: Moment): string => segmentFile(moment.segment);
const noise = (random: SeededRandom, max: number): Uint8Array =>
  Uint8Array.from({ length: 1 + random.below(max) }, () => random.below(256));

const drawFlip: Draw = (moment, random) => {
  const file = newest(moment);
  return flip(moment, file, somewhere(bytesOf(moment, file), random) * 8 + random.below(8));
};
const drawCut: Draw = (moment, random) =>
  cut(moment, newest(moment), somewhere(bytesOf(moment, newest(moment)), random));
const drawHole: Draw = (moment, random) => {
  const start = somewhere(bytesOf(moment, newest(moment)), random);
  return hole(moment, newest(moment), start, 1 + random.below(random.pick([2, 64, 4_096])));
};
const drawNoise: Draw = (moment, random) =>
  random.chance(3)
    ? append(moment, newest(moment), noise(random, 200))
    : overwrite(
        moment,
        newest(moment),
        somewhere(bytesOf(moment, newest(moment)), random),
        noise(random, 40),
      );

/** A place in the newest segment, now and then one in any. */
function somePlace(moment: Moment, random: SeededRandom): Place {
  const file = random.chance(50) ? segmentFile(1 + random.below(moment.segment)) : newest(moment);
  return { file, index: random.below(linesOf(bytesOf(moment, file)).length) };
}

const drawRecords: Draw = (moment, random) => {
  const one = somePlace(moment, random);
  const size = linesOf(bytesOf(moment, one.file)).length;
  const near = { file: one.file, index: Math.min(size - 1, one.index + 1) };
  const other = random.chance(2) ? near : somePlace(moment, random);
  switch (random.below(5)) {
    case 0:
      return exchange(moment, one, other);
    case 1:
      return double(moment, one, other);
    case 2:
      return move(moment, one, other);
    case 3:
      return remove(moment, one, 1 + random.below(3));
    default:
      return shuffle(moment, one.file, random);
  }
};

const drawFiles: Draw = (moment, random, { moments }) => {
  const names = [...moment.files.keys()];
  const before = moments.filter(({ head }) => head.seq <= moment.head.seq);
  const earlier = random.pick(before);
  switch (random.below(6)) {
    case 0:
      return rolledBack(moment, earlier);
    case 1:
      return withoutFile(moment, random.pick(names));
    case 2:
      return exchangeFiles(moment, random.pick(names), random.pick(names));
    case 3:
      return fileFrom(moment, earlier, random.pick([...earlier.files.keys()]));
    case 4:
      return withoutSegments(moment, 1 + random.below(moment.segment));
    default:
      return flip(moment, random.pick(names), random.below(8 * 4_000));
  }
};

const drawCheckpoint: Draw = (moment, random) => {
  const file = checkpointFile(moment.segment);
  if (!moment.files.has(file))
    return drawFlip(moment, random, { moments: [], hashes: [], kinds: [], bound: [] });
  const { length } = bytesOf(moment, file);
  return random.chance(4)
    ? cut(moment, file, random.below(length))
    : flip(moment, file, random.below(length * 8));
};

/** With how many tickets of a thousand each goes into the draw. */
const draws: readonly (readonly [number, Draw])[] = [
  [560, drawFlip],
  [170, drawCut],
  [50, drawHole],
  [50, drawNoise],
  [150, drawRecords],
  [10, drawCheckpoint],
  [10, drawFiles],
];

/** Some image of some moment. */
export function drawImage(story: Story, random: SeededRandom): Image {
  const moment = random.pick(story.moments);
  let ticket = random.below(1_000);
  for (const [tickets, draw] of draws) {
    if (ticket < tickets) return draw(moment, random, story);
    ticket -= tickets;
  }
  throw new Error("every ticket has its draw");
}
