/**
 * A ledger's folder as a disk, a crash or a careless hand leaves it: cut, damaged, mixed, aged. The
 * input draws the damage; what it has beyond that stands behind the newest segment. An agent that
 * starts there is refused, stopped by the gateway head, or recovered, and forgets no payment.
 */
import { drawImage, type Image, segmentFile } from "../../images/image.ts";
import { Judge } from "../../images/judge.ts";
import { type Story, tellStory } from "../../images/story.ts";
import { choices, InputRandom } from "../drawn.ts";
import { bytes, must, type Target } from "../target.ts";

const stories = 4;
const records = 300;
const segmentBytesMax = 4_000;
const choicesMost = 8;
const drawBytes = 4 * choicesMost;

interface JudgedStory {
  readonly story: Story;
  readonly judge: Judge;
}

const told = new Map<number, JudgedStory>();

function storyAt(seed: number): JudgedStory {
  const known = told.get(seed);
  if (known !== undefined) return known;
  const story = tellStory({ seed, records, segmentBytesMax });
  const made = { story, judge: new Judge(story) };
  told.set(seed, made);
  return made;
}

/** The image with more bytes behind its newest segment, where that is there. */
function followed({ moment, name, files }: Image, tail: Uint8Array): Image {
  const newest = segmentFile(moment.segment);
  const before = files.get(newest);
  if (before === undefined) return { moment, name, files };
  return {
    moment,
    name: `${name}, and a tail`,
    files: new Map(files).set(newest, Buffer.concat([before, tail])),
  };
}

const none = new Uint8Array(drawBytes);

export const ledgerImages: Target = {
  name: "ledger-images",
  words: ['"seq":', '"prev":"', '"mac":"', "}\n"],
  seeds: [none, none.map((_, at) => at * 7), Buffer.concat([none, bytes('{"seq":')])],
  make: (random) => choices(choicesMost, random),
  run(input) {
    const random = new InputRandom(input.subarray(0, drawBytes));
    const { story, judge } = storyAt(random.below(stories));
    const image = drawImage(story, random);
    const tail = input.subarray(drawBytes);
    const { violation } = judge.judge(tail.length === 0 ? image : followed(image, tail));
    must(violation === null, violation ?? "");
  },
  shapes: {
    tail: { from: 2_000, of: (size) => Buffer.concat([none, new Uint8Array(size).fill(0x20)]) },
    lines: { from: 2_000, of: (size) => Buffer.concat([none, new Uint8Array(size).fill(0x0a)]) },
  },
};
