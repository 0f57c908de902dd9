/**
 * The licences of the packages inside the bundles: each wants its text in every copy, and a bundle
 * is one.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const licenceFile = /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/i;

/** The folders of packages from which a bundler took files, sorted, e.g. "node_modules/ws". */
export function packagesIn(inputs) {
  const folders = inputs.flatMap(
    (path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [],
  );
  return [...new Set(folders)].sort();
}

/**
 * Name, version and licence texts of each package; of one without a text, what it declares and
 * whom it names. @throws Error when a package has neither
 */
export function licencesOf(root, folders) {
  return folders.map((folder) => licenceOf(join(root, folder))).join(`\n${"-".repeat(80)}\n\n`);
}

function licenceOf(folder) {
  const { name, version, license, author } = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8"),
  );
  const files = readdirSync(folder).filter((file) => licenceFile.test(file));
  if (files.length === 0 && typeof license !== "string")
    throw new Error(`${name} in the bundles declares no licence`);
  const texts = files
    .sort()
    .map((file) => `\n${readFileSync(join(folder, file), "utf8").trim()}\n`);
  const declared = `${license ?? ""}, ${typeof author === "string" ? author : (author?.name ?? name)}`;
  return `${name} ${version}: ${declared}\n${texts.join("")}`;
}
