/**
 * The parts of a database, read from SQLite itself, so that two databases that came to their
 * tables by different ways can be compared.
 */
import { DatabaseSync } from "@photostructure/sqlite";
import {
  addUnitsSumAggregate,
  digestOfVersion,
  type Migration,
  migrations,
} from "../../gateway/store/migrations.ts";

type Raw = InstanceType<typeof DatabaseSync>;
type Row = Readonly<Record<string, unknown>>;

const rows = (raw: Raw, sql: string): readonly Row[] => raw.prepare(sql).all() as Row[];

/** One spelling: blanks, and the quotes that a rename leaves around a name. */
const spelled = (sql: unknown): string =>
  String(sql)
    .replaceAll(/--[^\n]*/g, "")
    .replaceAll(/"(\w+)"/g, "$1")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/\s*([(),;=<>])\s*/g, "$1")
    .trim();

/** The texts between `word (` and its closing bracket. */
function bracketed(sql: string, word: string): readonly string[] {
  return [...sql.matchAll(new RegExp(`\\b${word}\\(`, "g"))].map(({ index, 0: begin }) => {
    let [depth, at] = [1, index + begin.length];
    for (; depth > 0; at += 1) depth += sql[at] === "(" ? 1 : sql[at] === ")" ? -1 : 0;
    return sql.slice(index, at);
  });
}

function tableOf(raw: Raw, name: string, sql: string): readonly string[] {
  const [kind] = rows(raw, `SELECT wr, strict FROM pragma_table_list WHERE name = '${name}'`);
  const keys = rows(
    raw,
    `SELECT "table", "from", "to", on_update, on_delete FROM pragma_foreign_key_list('${name}')`,
  );
  const indexes = rows(
    raw,
    `SELECT name, "unique", origin, partial FROM pragma_index_list('${name}')`,
  );
  return [
    `table ${name} ${JSON.stringify(kind)}`,
    ...rows(
      raw,
      `SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo('${name}') ORDER BY cid`,
    ).map((column) => `column ${name} ${JSON.stringify(column)}`),
    ...bracketed(spelled(sql), "CHECK").map((check) => `check ${name} ${check}`),
    ...keys.map((key) => `key ${name} ${JSON.stringify(key)}`),
    ...indexes.map((index) => {
      const parts = rows(
        raw,
        `SELECT name, "desc", coll, key FROM pragma_index_xinfo('${index.name}')`,
      );
      const shown = index.origin === "c" ? index.name : index.origin;
      return `index ${name} ${shown} ${index.unique} ${index.partial} ${JSON.stringify(parts)}`;
    }),
    ...(/AUTOINCREMENT/.test(sql) ? [`counts ${name}`] : []),
  ];
}

/**
 * Tables, columns, types, defaults, checks, keys, indexes, triggers and views, a sorted line each.
 */
export function catalogueOf(raw: Raw): readonly string[] {
  const objects = rows(
    raw,
    "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'",
  );
  const lines = objects.flatMap(({ type, name, sql }) => {
    if (type === "table") return tableOf(raw, String(name), String(sql));
    // The condition of a partial index stands in its text alone.
    return sql === null ? [] : [`${type} ${name} ${spelled(sql)}`];
  });
  return lines.sort();
}

/** Every row of every table but the named ones, a line each. */
export function contentOf(raw: Raw, without: readonly string[] = []): readonly string[] {
  const tables = rows(
    raw,
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
  );
  return tables
    .map(({ name }) => String(name))
    .filter((name) => !without.includes(name))
    .flatMap((name) =>
      rows(raw, `SELECT * FROM ${name}`).map((row) => `${name} ${JSON.stringify(row)}`),
    );
}

/** Makes the file `path` as a gateway of this version of the tables did, and fills it by `fill`. */
export function databaseOfVersion(
  path: string,
  version: number,
  fill = "",
  steps: readonly Migration[] = migrations,
): void {
  const raw = new DatabaseSync(path);
  addUnitsSumAggregate(raw);
  for (const { sql } of steps.slice(0, version)) raw.exec(sql);
  const meta = raw.prepare("INSERT INTO meta (name, value) VALUES (?, ?)");
  meta.run("schema", String(version));
  meta.run("schemaDigest", digestOfVersion(version, steps));
  meta.run("gatewayKey", "");
  raw.exec(fill);
  raw.close();
}

/** What `read` sees in the file `path`, which stays as it is. */
export function seenIn<T>(path: string, read: (raw: Raw) => T): T {
  const raw = new DatabaseSync(path, { readOnly: true });
  try {
    return read(raw);
  } finally {
    raw.close();
  }
}
