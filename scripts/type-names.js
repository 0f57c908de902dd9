/**
 * Names of types: a reader who sees only the import line can tell what a type holds. A name is no
 * bare participle, adjective, preposition or verb, such as Told, Open, Before or Came, and ends in
 * none of Info, Data, Item, Entry and Value, which fit any type. Few stay, each with its reason; a
 * reason that is not needed any more is a problem too. Tests are left out. An argument names
 * another root, for its test.
 */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { filesIn, readRooms, rootsOf } from "./rooms.js";

const own = fileURLToPath(new URL("..", import.meta.url));
const root = resolve(process.argv[2] ?? own);

const words = (text) => text.trim().split(/\s+/);

/** What stays, by the file that declares it. */
export const reasons = [
  {
    file: "protocol/messages.ts",
    names: words(`
      Entry DecisionEntry SignedEntry ObservedEntry AdoptedEntry AlarmEntry PausedEntry
      CeilingEntry RecoveredEntry AskedEntry`),
    why: "the protocol's word for a line of the log that agent and gateway both read",
  },
  { file: "base/json.ts", names: ["JsonValue"], why: "a value is what ECMA-404 calls it" },
  {
    file: "chains/evm/rlp.ts",
    names: ["RlpItem"],
    why: "an item is what RLP's definition calls it",
  },
];

const suffixes = /(?:Info|Data|Item|Entry|Value)$/;

/** Forms in -ed, -en and -ing are participles, but for these nouns. */
const regular = /^[A-Z][a-z]*(?:ed|en|ing)$/;
const nouns = new Set(
  words(`
    Bed Breed Creed Deed Feed Greed Need Reed Seed Shed Speed Thread Weed
    Citizen Omen Oxygen Pen Screen Siren Specimen Ten Token Warden Yen
    Beginning Being Binding Building Ceiling Drawing Ending Evening Filing Finding Heading
    Holding King Listing Mapping Meaning Meeting Morning Opening Pairing Rating Reading Recording
    Ring Ruling Saving Setting Shrinking Sibling Spelling Spring Standing String Thing Training
    Warning Wording Writing`),
);

/** Words without such a form that are participles, adjectives, prepositions or verbs. */
const others = new Set(
  words(`
    Born Bought Built Came Caught Dealt Done Drawn Felt Found Gone Got Grown Had Heard Held Kept
    Known Laid Led Left Lent Lost Made Meant Met Paid Ran Read Said Sent Shown Shrunk Shut Sold
    Sought Spent Stood Struck Sunk Swept Thrown Told Torn Understood Unspent Went Withdrawn Won
    Worn
    Able Absent Alive Bad Bare Big Both Busy Certain Clean Clear Close Dead Deep Dirty Due Dry Empty
    Exact Fake False Far Fast Final Foreign Free Fresh Full Genuine Heavy Hostile Hot Idle Large
    Last Late Latest Lazy Live Local Long Loose Near Nearby New Newest Next Odd Old Oldest Only Open
    Other Outer Own Previous Prior Pure Quick Quiet Rare Raw Ready Real Recent Safe Same Short
    Silent Simple Small Soft Stale Strict Strong Such Sure Thin Tight Tiny True Unclear Unique
    Unreadable Unsafe Usable Vain Valid Visible Warm Weak Whole Wide Wrong Young
    About Above After Against Around At Before Behind Below Between Beyond By During For From In
    Into Of Off On Out Over Since Through To Under Until Up Via With Within Without
    Whose Which Who What Where When`),
);

/** The problem that a name has; null for a noun. */
export function nameProblem(name) {
  const suffix = suffixes.exec(name)?.[0];
  if (suffix !== undefined) return `ends in ${suffix}, which fits any type`;
  if (others.has(name) || (regular.test(name) && !nouns.has(name)))
    return "is no noun: an import line does not tell what it holds";
  return null;
}

const isType = (node) =>
  ts.isInterfaceDeclaration(node) ||
  ts.isTypeAliasDeclaration(node) ||
  ts.isClassDeclaration(node) ||
  ts.isEnumDeclaration(node);

/** The types that a source declares, wherever in it, with their lines. */
function typesOf(file, text) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const types = [];
  const look = (node) => {
    if (isType(node) && node.name !== undefined) {
      const { line } = source.getLineAndCharacterOfPosition(node.name.getStart(source));
      types.push({ file, name: node.name.text, line: line + 1 });
    }
    ts.forEachChild(node, look);
  };
  look(source);
  return types;
}

/**
 * The problems of sources, each { file, text }, as sentences; with `rows` of reasons, in the form
 * of `reasons`.
 */
export function typeNameProblems(sources, rows = reasons) {
  const stays = (row, { file, name }) => row.file === file && row.names.includes(name);
  const refused = sources
    .flatMap(({ file, text }) => typesOf(file, text))
    .map((type) => ({ ...type, problem: nameProblem(type.name) }))
    .filter(({ problem }) => problem !== null);
  return [
    ...refused
      .filter((type) => !rows.some((row) => stays(row, type)))
      .map(({ file, line, name, problem }) => `${file}:${line}: the type ${name} ${problem}`),
    ...rows.flatMap(({ file, names }) =>
      names
        .filter((name) => !refused.some((type) => type.file === file && type.name === name))
        .map((name) => `the reason for ${name} of ${file} is not needed any more`),
    ),
  ];
}

function check() {
  const roots = rootsOf(readRooms(own), "product", "examples", "laboratory");
  const files = [".ts", ".tsx", ".js"].flatMap((ending) => filesIn(root, roots, ending));
  const sources = files.map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }));
  const problems = typeNameProblems(sources);
  process.stderr.write(problems.map((problem) => `type names: ${problem}\n`).join(""));
  if (problems.length > 0) process.exitCode = 1;
  else process.stdout.write(`type names: ${files.length} files, each type a noun\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) check();
