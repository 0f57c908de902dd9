/**
 * Images of a ledger of fifty records: cuts, flipped bits, records exchanged, doubled, moved and
 * removed, files gone or from an earlier day. Each is opened by the real ledger and pressed by a
 * courier that wants signatures; none forgets a payment. A run takes one bit and one cut in 16,
 * from a place that its seed gives, and all other images; the quick tier takes a tenth of each
 * kind.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openKeystore } from "../../agent/keystore/keystore.ts";
import { AgentError } from "../../base/fault.ts";
import * as make from "../../lab/images/image.ts";
import { type Fate, Judge } from "../../lab/images/judge.ts";
import { type Moment, tellStory } from "../../lab/images/story.ts";
import { SeededRandom, seedsOfRun } from "../../lab/kit/seeded.ts";
import { isLongTier, share } from "../../lab/kit/share.ts";

const story = tellStory({ seed: 3, records: 50, segmentBytesMax: 3_000 });
const full = story.moments.filter(({ isFull }) => isFull);
const latest = full.at(-1) as Moment;
/** Thousands of images each: a busy machine may take its time. */
const slow = { timeout: 300_000 } as const;
const step = isLongTier ? 16 : 160;
const drawn = new SeededRandom(seedsOfRun(1)[0] as number);
const offset = drawn.below(step);
const newest = ({ segment }: Moment): string => make.segmentFile(segment);

/** An image that is made only when it is judged: to make one costs as much as to judge it. */
type Making = () => make.Image;

/** Counts the fates of the images, none with a violation. Yields to the test runner at times. */
async function judged(
  images: Iterable<Making>,
  judge = new Judge(story),
): Promise<Readonly<Record<Fate, number>>> {
  const fates = { recovered: 0, refused: 0, stopped: 0 };
  const violations: string[] = [];
  let count = 0;
  for (const image of images) {
    count += 1;
    if (count % 500 === 0) await new Promise((resolve) => setImmediate(resolve));
    const { fate, violation } = judge.judge(image());
    fates[fate] += 1;
    if (violation !== null && violations.length < 10) violations.push(violation);
  }
  expect(violations).toEqual([]);
  return fates;
}

function* each<T>(items: readonly T[], makeOne: (item: T) => Iterable<Making>): Generator<Making> {
  for (const item of items) yield* makeOne(item);
}

function* counted(count: number, makeOne: (index: number) => make.Image): Generator<Making> {
  for (let index = 0; index < count; index++) yield () => makeOne(index);
}

/** Takes one place in `step`, from the offset of this run's seed. */
function* sampled(
  count: number,
  makeOne: (index: number) => make.Image,
  every = step,
): Generator<Making> {
  for (let index = offset % every; index < count; index += every) yield () => makeOne(index);
}

/**
 * All images in the long tier, else one in `oneIn`, each drawn by itself, so that no kind of image
 * falls between the steps.
 */
function* drawnOf(images: Iterable<Making>, oneIn = 10): Generator<Making> {
  const chance = new SeededRandom(drawn.seed);
  for (const image of images) if (isLongTier || chance.chance(oneIn)) yield image;
}

/**
 * Images of changed records and files are rarely stopped: a tenth of them may hold no such image.
 */
function leastOf({ recovered, refused, stopped }: Readonly<Record<Fate, number>>): number {
  return isLongTier ? Math.min(recovered, refused, stopped) : Math.min(recovered, refused);
}

const sampleOf = (count: number): number => Math.ceil((count - offset) / step);

describe("the ledger that images are made of", () => {
  it("has fifty records of every kind but PAUSED and MANUAL_REPLACEMENT, in segments with checkpoints", () => {
    const kinds =
      "PAIRED ADOPTED REQUESTED REPEATED APPROVED HELD REFUSED EXPIRED INTENT SIGNED RELEASED OBSERVED REPORTED ALARM LOCKED CHECKPOINT RECOVERED RECOVERY_FINISHED POLICY CONFIRMED ENDED";
    expect(story.kinds).toHaveLength(50);
    expect([...new Set(story.kinds)].sort()).toEqual(kinds.split(" ").sort());
    expect(latest.segment).toBeGreaterThan(2);
    expect(latest.files.has(make.checkpointFile(latest.segment))).toBe(true);
  });

  it("is kept between INTENT and SIGNED, and with a signature that no gateway knows", () => {
    expect(story.moments.some(({ head }) => story.kinds[head.seq - 1] === "INTENT")).toBe(true);
    const lacksSignature = ({ head, stored }: Moment): boolean =>
      story.kinds.slice(stored?.seq ?? 0, head.seq).includes("SIGNED");
    expect(story.moments.some(lacksSignature)).toBe(true);
    expect(story.moments.some((moment) => moment.stored !== null && !lacksSignature(moment))).toBe(
      true,
    );
  });

  it("is opened untouched, at every moment that was kept", async () => {
    const fates = await judged(
      story.moments.map(
        (moment) => () =>
          make.cut(moment, newest(moment), make.bytesOf(moment, newest(moment)).length),
      ),
    );
    expect(fates).toEqual({ recovered: story.moments.length, refused: 0, stopped: 0 });
  });
});

describe("images of a segment", slow, () => {
  it("with any bit flipped are refused at that line, but for the few that look like a torn end", async () => {
    const bits = (moment: Moment): number => make.bytesOf(moment, newest(moment)).length * 8;
    const fates = await judged(
      each(full, (moment) =>
        sampled(bits(moment), (bit) => make.flip(moment, newest(moment), bit)),
      ),
    );
    expect(fates.refused, `SEED=${drawn.seed}`).toBeGreaterThan(150_000 / step);
    expect((fates.recovered + fates.stopped) / fates.refused, `SEED=${drawn.seed}`).toBeLessThan(
      0.02,
    );
  });

  it("cut anywhere are opened at a durable record, or stopped by the gateway head", async () => {
    const size = (moment: Moment): number => make.bytesOf(moment, newest(moment)).length;
    const fates = await judged(
      each(story.moments, (moment) =>
        sampled(size(moment), (at) => make.cut(moment, newest(moment), at)),
      ),
    );
    expect(
      Math.min(fates.recovered, fates.refused, fates.stopped),
      `SEED=${drawn.seed}`,
    ).toBeGreaterThan(100 / step);
  });

  it("with holes or foreign bytes at the end forget no payment", async () => {
    const random = new SeededRandom(seedsOfRun(1)[0] as number);
    const fates = await judged(
      each(story.moments, (moment) => {
        const bytes = make.bytesOf(moment, newest(moment));
        return counted(share(40, 16), () => {
          const start = random.below(bytes.length);
          const noise = Uint8Array.from({ length: 1 + random.below(80) }, () => random.below(256));
          const choice = random.below(3);
          if (choice === 0) return make.hole(moment, newest(moment), start, bytes.length - start);
          return choice === 1
            ? make.overwrite(moment, newest(moment), start, noise)
            : make.append(moment, newest(moment), noise);
        });
      }),
    );
    expect(
      Math.min(fates.recovered, fates.refused, fates.stopped),
      `SEED=${random.seed}`,
    ).toBeGreaterThan(0);
  });
});

describe("images of the records", slow, () => {
  it("with every two neighbours exchanged, every record doubled, moved by one or removed forget no payment", async () => {
    const images = each(story.moments, (moment) => {
      const places = make.placesOf(moment);
      const here =
        moment === latest
          ? places.slice(1)
          : places.slice(1).filter(({ file }) => file === newest(moment));
      return each(here, (place) => {
        const before = places[places.indexOf(place) - 1] as make.Place;
        const { length } = make.linesOf(make.bytesOf(moment, place.file));
        return [
          () => make.exchange(moment, before, place),
          () => make.double(moment, place, place),
          () => make.double(moment, before, place),
          ...counted(length - place.index, (more) => make.remove(moment, place, more + 1)),
        ];
      });
    });
    const fates = await judged(drawnOf(images));
    expect(leastOf(fates), `SEED=${drawn.seed}`).toBeGreaterThan(share(10));
  });

  it("with any two exchanged, any one moved or doubled anywhere, and whole segments in another order forget no payment", async () => {
    const random = new SeededRandom(seedsOfRun(1)[0] as number);
    const places = make.placesOf(latest);
    const images = each(places.slice(0, -1), (one) => [
      ...sampled(places.length, (at) => make.exchange(latest, one, places[at] as make.Place), 16),
      ...counted(8, () =>
        make.move(latest, one, random.pick(places.filter(({ file }) => file !== one.file))),
      ),
      ...counted(8, () => make.double(latest, one, random.pick(places))),
      ...counted(4, () => make.shuffle(latest, one.file, random)),
    ]);
    const fates = await judged(drawnOf(images));
    expect(fates.refused, `SEED=${random.seed}`).toBeGreaterThan(share(100, 2));
  });
});

describe("images of the folder", slow, () => {
  it("as it was at any earlier moment forget no payment", async () => {
    const images = each(story.moments, (moment) =>
      story.moments
        .slice(0, story.moments.indexOf(moment))
        .map((earlier) => () => make.rolledBack(moment, earlier)),
    );
    const fates = await judged(drawnOf(images, 2));
    expect(Math.min(fates.recovered, fates.stopped), `SEED=${drawn.seed}`).toBeGreaterThan(
      share(10, 0),
    );
    expect(fates.refused).toBe(0);
  });

  it("with any file removed, exchanged or from an earlier moment, and the newest segments removed, forget no payment", async () => {
    const images = each(full, (moment) => {
      const names = [...moment.files.keys()];
      const earlier = story.moments.slice(0, story.moments.indexOf(moment));
      return [
        ...names.map((name) => () => make.withoutFile(moment, name)),
        ...names.flatMap((one) =>
          names.map((other) => () => make.exchangeFiles(moment, one, other)),
        ),
        ...earlier.flatMap((each) =>
          [...each.files.keys()].map((name) => () => make.fileFrom(moment, each, name)),
        ),
        ...counted(moment.segment, (index) => make.withoutSegments(moment, index + 1)),
      ];
    });
    const fates = await judged(drawnOf(images));
    expect(leastOf(fates), `SEED=${drawn.seed}`).toBeGreaterThan(share(5));
  });

  it("a flipped bit in an old segment is not read at a start, and verify finds it", async () => {
    const size = (moment: Moment): number => make.bytesOf(moment, newest(moment)).length;
    const old = full.slice(0, -1).filter(({ segment }) => segment < latest.segment);
    const images = each(old, (moment) =>
      counted(Math.floor(size(moment) / 64), (index) =>
        make.flip(latest, newest(moment), index * 512 + (index % 8)),
      ),
    );
    const fates = await judged(drawnOf(images));
    expect(fates.recovered, `SEED=${drawn.seed}`).toBeGreaterThan(share(100));
  });
});

describe("images of other files", slow, () => {
  it("with any bit of a checkpoint flipped or any end cut off are refused", async () => {
    const moment = story.moments.find(
      ({ head }) => story.kinds[head.seq - 1] === "CHECKPOINT",
    ) as Moment;
    const file = make.checkpointFile(moment.segment);
    const { length } = make.bytesOf(moment, file);
    const bits = await judged(sampled(length * 8, (bit) => make.flip(moment, file, bit)));
    expect(bits).toEqual({ recovered: 0, refused: sampleOf(length * 8), stopped: 0 });
    expect((await judged(sampled(length, (size) => make.cut(moment, file, size)))).refused).toBe(
      sampleOf(length),
    );
  });

  it("with any bit of the keystore flipped are refused, or open the same wallet", () => {
    const { keystores } = JSON.parse(
      readFileSync(new URL("../vectors/keystore.json", import.meta.url), "utf8"),
    ) as {
      readonly keystores: readonly { readonly encKey: string; readonly text: string }[];
    };
    const { encKey, text } = keystores.find((each) =>
      each.text.includes('"hkdf"'),
    ) as (typeof keystores)[number];
    const opened = (bytes: Uint8Array): string => {
      const { wallet, networks, accounts, signerSeed } = openKeystore(
        Buffer.from(bytes).toString("utf8"),
        Buffer.from(encKey),
      );
      return [
        wallet,
        networks.join(),
        ...[...accounts.map(({ node }) => node), signerSeed].map((each) =>
          Buffer.from(each.bytes).toString("hex"),
        ),
      ].join();
    };
    const right = Buffer.from(text);
    const wallet = opened(right);
    const fates = { refused: 0, same: 0 };
    const bitStep = isLongTier ? 1 : 10;
    for (let bit = drawn.seed % bitStep; bit < right.length * 8; bit += bitStep) {
      const bytes = new Uint8Array(right);
      bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7));
      let found: string;
      try {
        found = opened(bytes);
      } catch (error) {
        found = error instanceof AgentError ? error.code : `${error}`;
      }
      if (found === wallet) fates.same += 1;
      else if (/^KEYSTORE_(?:FORMAT|NEWER|COST|ENCKEY|WALLET)$/.test(found)) fates.refused += 1;
      else expect.unreachable(`bit ${bit}: ${found}`);
    }
    expect(fates.refused).toBeGreaterThan(5_000 / bitStep);
    expect(fates.same).toBeLessThan(200 / bitStep + 20); // blanks between the fields
  });
});

describe("the judge", () => {
  it("sees payments forgotten on the same images, where no gateway head is true", () => {
    const judge = new Judge(story, { isGatewayHeadTrue: false });
    const isForgotten = (moment: Moment): boolean => {
      for (let size = 0; size < make.bytesOf(moment, newest(moment)).length; size += 23) {
        const { violation } = judge.judge(make.cut(moment, newest(moment), size));
        if (violation !== null && /was used by|has eip155/.test(violation)) return true;
      }
      return false;
    };
    expect(full.some(isForgotten)).toBe(true);
  });
});
