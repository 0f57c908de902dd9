/**
 * The tables of rooms and of packages in docs/architecture.md, section 5, from scripts/rooms.json.
 * scripts/rooms.js says what a cell means.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { markdownTable, type PageSections, quote } from "./marked-pages.ts";

type Cell = string | { readonly text?: string; readonly by?: readonly string[] };

interface RoomRow {
  readonly room: string;
  readonly for: string;
  readonly keys?: Cell;
  readonly network?: Cell;
  readonly processes?: Cell;
  readonly disk?: Cell;
  readonly powers?: "*" | readonly string[];
  readonly imports?: readonly string[];
  readonly outside?: readonly string[];
}

interface RoomsFile {
  readonly rooms: readonly RoomRow[];
  readonly packages: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

const never = "–";
const quoted = (names: readonly string[]): string => names.map(quote).join(", ");

function cellText(cell: Cell = never): string {
  if (typeof cell === "string") return cell;
  const { text = "", by = [] } = cell;
  return [text, by.length === 0 ? "" : `by ${quoted(by)}`].filter((part) => part !== "").join(", ");
}

/** "–" under network stands for no programs and threads as well. */
function networkText({ network, processes }: RoomRow): string {
  const reaches = cellText(network);
  if (processes === undefined) return reaches;
  return `${reaches === never ? "none of its own" : reaches}; programs: ${cellText(processes)}`;
}

const powersText = ({ powers = [] }: RoomRow): string =>
  powers === "*" ? "free" : powers.join(", ") || never;

const importsText = ({ imports = [], outside = [] }: RoomRow): string =>
  [quoted(imports), quoted(outside.filter((name) => name !== "*"))]
    .filter((part) => part !== "")
    .join("; ") || never;

/** The sections of docs/architecture.md, from the table of rooms below `root`. */
export function roomSections(root: string): PageSections {
  const file = JSON.parse(readFileSync(join(root, "scripts/rooms.json"), "utf8")) as RoomsFile;
  const rooms = file.rooms.map((row) => [
    ...[quote(row.room), row.for, cellText(row.keys), networkText(row), cellText(row.disk)],
    ...[powersText(row), importsText(row)],
  ]);
  const packages = Object.entries(file.packages).flatMap(([name, reasons]) =>
    Object.entries(reasons).map(([kind, reason]) => [
      ...[quote(name), kind === "processes" ? "programs" : kind, reason],
    ]),
  );
  const head = ["room", "for", "keys", "network", "disk", "ambient", "may import"];
  return {
    rooms: markdownTable(head, rooms),
    packages: markdownTable(["package", "column", "its imports serve"], packages),
  };
}
