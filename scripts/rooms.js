/**
 * The table of rooms, rooms.json: which room a file belongs to, and which folders hold code.
 * scripts/reach.js holds imports against it, and packaging/docs/rooms-tables.ts makes the tables
 * of docs/architecture.md, section 5, from it.
 *
 * A cell is "–" (the room reaches nothing of the kind, through any number of hops), a text (the
 * room is free), or { text, own, by }: the room itself imports the builtin modules of `own` only,
 * and reaches anything else of the kind only through the rooms and packages of `by`. A file of the
 * product is private to its folder, unless the `exports` of its room list it, or a row names it as
 * its place. `powers` are the ambient powers of a room's files (scripts/powers.js); "*" leaves
 * the room free.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const kinds = ["keys", "network", "processes", "disk"];
export const never = "–";

/** The table; a cell that a row leaves out is "–", a list that it leaves out is empty. */
export function readRooms(root) {
  const table = JSON.parse(readFileSync(join(root, "scripts/rooms.json"), "utf8"));
  const cells = Object.fromEntries(kinds.map((kind) => [kind, never]));
  return {
    ...table,
    rooms: table.rooms.map((room) => ({
      ...cells,
      imports: [],
      outside: [],
      exports: [],
      powers: [],
      ...room,
    })),
  };
}

/** The folders at the top that hold code, by what they are, such as "product". */
export function rootsOf(table, ...parts) {
  return parts.flatMap((part) => table.roots[part]);
}

/** The part that a file belongs to, by its folder at the top; null for any other file. */
export function partOf(table, file) {
  return (
    Object.keys(table.roots).find((part) => table.roots[part].includes(file.split("/")[0])) ?? null
  );
}

/** Every file with that ending in the folders, by its path from the root. */
export function filesIn(root, folders, ending = ".ts") {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory())
        return entry.name === "node_modules" ? [] : filesIn(root, [path], ending);
      return entry.name.endsWith(ending) ? [path] : [];
    }),
  );
}

const isFile = (place) => /\.[jt]sx?$/.test(place);

/**
 * A place is a folder without those beneath it, `folder/**` with them, or files with `*` in their
 * name.
 */
function placeForm(place) {
  const text = place.replace(
    /\*\*|[.*]/g,
    (sign) => ({ "**": ".*", "*": "[^/]*", ".": "\\." })[sign],
  );
  return new RegExp(isFile(place) || place.endsWith("**") ? `^${text}$` : `^${text}/[^/]*$`);
}

export const placesOf = (room) => room.files ?? [room.room];

/**
 * Gives the room of a file, null for a file without one. Files that are named win over a folder, a
 * longer place over a shorter one.
 */
export function roomFinder(table) {
  const places = table.rooms
    .flatMap((room) => placesOf(room).map((place) => ({ room, place, form: placeForm(place) })))
    .sort((a, b) => isFile(b.place) - isFile(a.place) || b.place.length - a.place.length);
  const known = new Map();
  return (file) => {
    if (!known.has(file)) known.set(file, places.find(({ form }) => form.test(file))?.room ?? null);
    return known.get(file);
  };
}

/** The name of a file in the exports of its room: its place below the room's folder, no ending. */
export function exportNameOf({ room }, file) {
  const [folder] = room.split(" ");
  return file.startsWith(`${folder}/`)
    ? file.slice(folder.length + 1).replace(/\.[jt]sx?$/, "")
    : null;
}

/** True for a file that other folders may import: an export, or a file that its row names. */
export function isExport(room, file) {
  return placesOf(room).includes(file) || room.exports.includes(exportNameOf(room, file));
}

/**
 * Mistakes of the table itself: rows without a file, files without a row, names of no room,
 * circles.
 */
export function tableProblems(table, files) {
  const find = roomFinder(table);
  const names = [...table.rooms.map(({ room }) => room), ...Object.keys(table.roots)];
  const used = new Set(files.map(find));
  const isOutsider = (room, name) => !names.includes(name) && !room.outside.includes(name);
  const namedBy = (room) => [...room.imports, ...kinds.flatMap((kind) => room[kind].by ?? [])];
  return [
    ...files.filter((file) => find(file) === null).map((file) => `${file} belongs to no room`),
    ...table.rooms.flatMap((room) =>
      room.exports
        .filter(
          (name) => !files.some((file) => find(file) === room && exportNameOf(room, file) === name),
        )
        .map((name) => `the room ${room.room} exports ${name}, which is none of its files`),
    ),
    ...table.rooms
      .filter((room) => !used.has(room))
      .map(({ room }) => `no file belongs to the room ${room}`),
    ...table.rooms.flatMap((room) =>
      namedBy(room)
        .filter((name) => isOutsider(room, name))
        .map((name) => `the room ${room.room} names ${name}, which is no room`),
    ),
    ...circleOf(table),
  ];
}

/**
 * The first circle of rooms, because rooms import only from below; a folder and its own parts may
 * import each other.
 */
function circleOf(table) {
  const folderOf = (name) => name.split(" ")[0];
  const isWithin = (a, b) => `${folderOf(a)}/`.startsWith(`${folderOf(b)}/`);
  const rooms = new Map(table.rooms.map(({ room, imports }) => [room, imports]));
  const done = new Set();
  const circleFrom = (name, way) => {
    if (way.includes(name)) return [...way.slice(way.indexOf(name)), name];
    if (done.has(name)) return null;
    const next = (rooms.get(name) ?? []).filter(
      (other) => !isWithin(name, other) && !isWithin(other, name),
    );
    for (const other of next) {
      const circle = circleFrom(other, [...way, name]);
      if (circle !== null) return circle;
    }
    done.add(name);
    return null;
  };
  for (const name of rooms.keys()) {
    const circle = circleFrom(name, []);
    if (circle !== null) return [`rooms import each other: ${circle.join(" → ")}`];
  }
  return [];
}
