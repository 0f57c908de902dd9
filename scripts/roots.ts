/**
 * The folders at the top that hold code, from the one list of them (rooms.json).
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export type Part = "product" | "examples" | "laboratory" | "tests";

export function rootsOf(root: string, ...parts: readonly Part[]): readonly string[] {
  const table = JSON.parse(readFileSync(join(root, "scripts/rooms.json"), "utf8")) as {
    readonly roots: Readonly<Record<Part, readonly string[]>>;
  };
  return parts.flatMap((part) => table.roots[part]);
}
