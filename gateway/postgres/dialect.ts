/**
 * The same statement for PostgreSQL. A statement of this program is written once, in SQLite's words
 * as far as both engines know them; what differs is changed here token by token, without a parser
 * of SQL. A statement beyond these changes is written in a form that both engines take. Sources:
 * sqlite.org/lang_select.html, lang_upsert.html; postgresql.org/docs/15/sql-syntax-lexical.html,
 * sql-insert.html.
 */
import { invariant } from "../../base/fault.ts";

/** A word, a text, a number, a parameter, a space or a sign of a statement. */
const tokenPattern =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|[A-Za-z_][A-Za-z0-9_]*|\d+(?:\.\d+)?|\?\d*|\s+|--[^\n]*|\|\||<>|<=|>=|[\s\S]/g;

const isSpace = (token: string | undefined): boolean => token !== undefined && /^\s/.test(token);
const isName = (token: string | undefined): boolean =>
  token !== undefined && /^[a-z_][A-Za-z0-9_]*$/.test(token);
const isParameter = (token: string | undefined): boolean => token?.startsWith("?") === true;

/** The place of the next token that is no space; the end of the list if there is none. */
function skipSpaces(tokens: readonly string[], from: number): number {
  let at = from;
  while (isSpace(tokens[at])) at += 1;
  return at;
}

/** The place behind the closing bracket of the opening one at `from`. */
function endOfBrackets(tokens: readonly string[], from: number): number {
  let depth = 0;
  for (let at = from; at < tokens.length; at += 1) {
    if (tokens[at] === "(") depth += 1;
    if (tokens[at] === ")") depth -= 1;
    if (depth === 0) return at + 1;
  }
  return tokens.length;
}

/** The parts between commas that stand in no further bracket. */
function splitAtCommas(tokens: readonly string[]): readonly (readonly string[])[] {
  const lists: string[][] = [[]];
  let depth = 0;
  for (const token of tokens) {
    if (token === "(") depth += 1;
    if (token === ")") depth -= 1;
    if (token === "," && depth === 0) lists.push([]);
    else lists.at(-1)?.push(token);
  }
  return lists;
}

/** Functions that are called otherwise; each takes the texts of its arguments. */
const functions: Readonly<Record<string, (texts: readonly string[]) => string>> = {
  max: (texts) => `${texts.length > 1 ? "greatest" : "max"}(${texts.join(",")})`,
  min: (texts) => `${texts.length > 1 ? "least" : "min"}(${texts.join(",")})`,
  iif: ([condition, yes, no]) => `CASE WHEN ${condition} THEN ${yes} ELSE ${no} END`,
  instr: (texts) => `strpos(${texts.join(",")})`,
  json_each: ([list]) => `json_array_elements_text((${list})::text::json)`,
  json_extract: ([value, path]) => `((${value})::json ->> ${memberOf(path)})`,
  json_object: (texts) => `json_build_object(${texts.join(",")})::text`,
  json_array: (texts) => `json_build_array(${texts.join(",")})`,
  json_group_array: ([one]) => `coalesce(json_agg(${one}), '[]')::text`,
  json_group_object: (texts) => `coalesce(json_object_agg(${texts.join(",")}), '{}')::text`,
};

function memberOf(path = ""): string {
  const [, name] = /^\s*'\$\.([A-Za-z]+)'$/.exec(path) ?? [];
  invariant(name !== undefined, `json_extract of a path that PostgreSQL has no word for: ${path}`);
  return `'${name}'`;
}

/** Words with another meaning. */
const words: Readonly<Record<string, string>> = { INTEGER: "BIGINT", BLOB: "BYTEA", STRICT: "" };

type Comparison = "" | "IS" | "IS NOT";

/** The pieces of a statement between its parameters. */
interface CutStatement {
  readonly pieces: readonly string[];
  readonly parameters: readonly Parameter[];
}

interface Parameter {
  readonly value: number; // its place among the values, from 0
  readonly comparison: Comparison; // how it is compared, if by IS
}

const parameterMark = "\u0001";

class Translation {
  readonly #parameters: Parameter[] = [];

  cut(sql: string): CutStatement {
    const ignoring = /^(\s*INSERT) OR IGNORE\b/;
    const tokens = sql.replace(ignoring, "$1").match(tokenPattern) ?? [];
    const update = updateOfConflict(tokens);
    const plain = this.#translate(tokens.slice(0, update.begin));
    const updating = this.#translate(update.tokens);
    const end = ignoring.test(sql) ? " ON CONFLICT DO NOTHING" : "";
    const text = `${plain}${updating}${end}`;
    return { pieces: text.split(parameterMark), parameters: this.#parameters };
  }

  #translate(tokens: readonly string[]): string {
    let text = "";
    for (let at = 0; at < tokens.length; ) {
      const [piece, next] = this.#step(tokens, at);
      text += piece;
      at = next;
    }
    return text;
  }

  /** The text of what begins at `at`, and the place behind it. */
  #step(tokens: readonly string[], at: number): readonly [string, number] {
    const token = tokens[at] ?? "";
    const next = skipSpaces(tokens, at + 1);
    if (isParameter(token)) return [this.#parameter(token, "", tokens[next]), at + 1];
    if (token === "INDEXED" && tokens[next] === "BY") return ["", skipSpaces(tokens, next + 1) + 1];
    if (token === "CROSS" && tokens[next] === "JOIN")
      return [hasCondition(tokens, next + 1) ? "JOIN" : "CROSS JOIN", next + 1];
    if (token === "IS") return this.#compare(tokens, at);
    if (token === "LIMIT" && isParameter(tokens[next]))
      return [this.#limit(tokens[next]), next + 1];
    if (token === "+" && isSign(tokens, at)) return ["", at + 1];
    if (token === "x" && tokens[at + 1]?.startsWith("'") === true)
      return [`'\\x${tokens[at + 1]?.slice(1)}::bytea`, at + 2];
    if (token === "(" && isUnnamedTable(tokens, at)) return this.#table(tokens, at);
    if (isName(token)) return this.#name(tokens, at);
    return [words[token] ?? token, at + 1];
  }

  /** PostgreSQL knows no type of a parameter that stands alone before IS NULL. */
  #parameter(token: string, comparison: Comparison, after: string | undefined): string {
    const last = Math.max(-1, ...this.#parameters.map(({ value }) => value));
    const value = token === "?" ? last + 1 : Number(token.slice(1)) - 1;
    this.#parameters.push({ value, comparison });
    return `${parameterMark}${after === "IS" ? "::text" : ""}`;
  }

  /** A limit of -1 is none in SQLite, and an error in PostgreSQL, where NULL is none. */
  #limit(token = ""): string {
    return `LIMIT nullif(${this.#parameter(token, "", undefined)}::bigint, -1)`;
  }

  /** IS compares any two values in SQLite, and only with a constant in PostgreSQL. */
  #compare(tokens: readonly string[], at: number): readonly [string, number] {
    let next = skipSpaces(tokens, at + 1);
    const isNot = tokens[next] === "NOT";
    if (isNot) next = skipSpaces(tokens, next + 1);
    const value = tokens[next] ?? "";
    if (value === "NULL") return [isNot ? "IS NOT NULL" : "IS NULL", next + 1];
    if (isParameter(value))
      return [this.#parameter(value, isNot ? "IS NOT" : "IS", undefined), next + 1];
    return [isNot ? "IS DISTINCT FROM " : "IS NOT DISTINCT FROM ", next];
  }

  /** A table that is a question has a name in PostgreSQL, whether somebody says it or not. */
  #table(tokens: readonly string[], at: number): readonly [string, number] {
    const end = endOfBrackets(tokens, at);
    return [`(${this.#translate(tokens.slice(at + 1, end - 1))}) AS "unnamed"`, end];
  }

  /** A function's name stands right before its bracket; every other name keeps its letters. */
  #name(tokens: readonly string[], at: number): readonly [string, number] {
    const name = tokens[at] ?? "";
    const isTable = tokens[at - 1] !== undefined && tokens[at - 2] === "REFERENCES";
    if (tokens[at + 1] !== "(" || isTable) return [`"${name}"`, at + 1];
    const write = functions[name];
    if (write === undefined) return [name, at + 1];
    const end = endOfBrackets(tokens, at + 1);
    const texts = splitAtCommas(tokens.slice(at + 2, end - 1)).map((list) => this.#translate(list));
    return [write(texts), end];
  }
}

/** A sign before a column keeps SQLite from an index, and is no sign of a text in PostgreSQL. */
function isSign(tokens: readonly string[], at: number): boolean {
  return (
    isName(tokens[at + 1]) && /^(?:[A-Z]+|[(,=<>]|<>|<=|>=)$/.test(previousWord(tokens, at) ?? "")
  );
}

function isUnnamedTable(tokens: readonly string[], at: number): boolean {
  if (!["FROM", "JOIN"].includes(previousWord(tokens, at) ?? "")) return false;
  const behind = tokens[skipSpaces(tokens, endOfBrackets(tokens, at))];
  return behind !== "AS" && !isName(behind);
}

/** True if the joined table that begins at `from` has an ON. */
function hasCondition(tokens: readonly string[], from: number): boolean {
  let at = skipSpaces(tokens, from);
  at = tokens[at + 1] === "(" ? endOfBrackets(tokens, at + 1) : at + 1;
  at = skipSpaces(tokens, at);
  if (tokens[at] === "AS") at = skipSpaces(tokens, at + 1);
  if (isName(tokens[at])) at = skipSpaces(tokens, at + 1);
  return tokens[at] === "ON";
}

/**
 * The text behind DO UPDATE SET of an INSERT, and its beginning. A column without a table is the
 * row's that is there in SQLite; PostgreSQL wants its table in front of it.
 */
function updateOfConflict(tokens: readonly string[]): {
  readonly begin: number;
  readonly tokens: readonly string[];
} {
  const inWords = tokens.filter((token) => !isSpace(token));
  const set = tokens.findIndex(
    (token, at) =>
      token === "SET" && previousWord(tokens, at) === "UPDATE" && isConflict(tokens, at),
  );
  if (set < 0) return { begin: tokens.length, tokens: [] };
  const table = inWords[inWords.indexOf("INTO") + 1] ?? "";
  const begin = set + 1;
  let isTarget = true; // left of the sign of equality
  let depth = 0;
  const named = tokens.slice(begin).map((token, index) => {
    const at = begin + index;
    if (token === "(") depth += 1;
    if (token === ")") depth -= 1;
    if (token === "," && depth === 0) isTarget = true;
    const wasTarget = isTarget;
    if (token === "=" || token === "WHERE") isTarget = false;
    const isColumn = isName(token) && tokens[at - 1] !== "." && !/^[.(]/.test(tokens[at + 1] ?? "");
    return isColumn && !wasTarget ? [table, ".", token] : [token];
  });
  return { begin, tokens: named.flat() };
}

function previousWord(tokens: readonly string[], at: number): string | undefined {
  let before = at - 1;
  while (isSpace(tokens[before])) before -= 1;
  return tokens[before];
}

const isConflict = (tokens: readonly string[], at: number): boolean =>
  tokens.slice(0, at).includes("CONFLICT");

const cuts = new Map<string, CutStatement>();

function cutOf(sql: string): CutStatement {
  const known = cuts.get(sql);
  if (known !== undefined) return known;
  const cut = new Translation().cut(sql);
  cuts.set(sql, cut);
  return cut;
}

/** A statement for PostgreSQL; the values are those of its parameters $1, $2 and so on. */
export interface TranslatedStatement<Value> {
  readonly text: string;
  readonly values: readonly Value[];
}

/**
 * Translates a statement. `IS ?` becomes a comparison that an index can serve, so its text depends
 * on whether the value is null.
 */
export function translateStatement<Value>(
  sql: string,
  values: readonly Value[],
): TranslatedStatement<Value> {
  const { pieces, parameters } = cutOf(sql);
  const needed = Math.max(-1, ...parameters.map(({ value }) => value)) + 1;
  invariant(
    values.length >= needed,
    `a statement of ${needed} values got ${values.length}: ${sql}`,
  );
  let text = pieces[0] ?? "";
  const used: number[] = []; // places of values, in the order of their first use
  for (const [index, { value, comparison }] of parameters.entries()) {
    if (comparison !== "" && values[value] === null) text += `${comparison} NULL`;
    else {
      if (!used.includes(value)) used.push(value);
      text += `${signs[comparison]}$${used.indexOf(value) + 1}`;
    }
    text += pieces[index + 1] ?? "";
  }
  return { text, values: used.map((place) => values[place] as Value) };
}

const signs: Readonly<Record<Comparison, string>> = {
  "": "",
  IS: "= ",
  "IS NOT": "IS DISTINCT FROM ",
};
