/**
 * The texts of the files in migrations/. In a bundle the bundler puts the texts themselves in the
 * place of this file (scripts/bundle.js), so that a program never runs with another one's files.
 */
import { readdirSync, readFileSync } from "node:fs";

const folder = new URL("./migrations/", import.meta.url);

/** By the file's name, NNNN-name.sql. */
export const migrationTexts: Readonly<Record<string, string>> = Object.fromEntries(
  readdirSync(folder).map((file) => [file, readFileSync(new URL(file, folder), "utf8")]),
);
