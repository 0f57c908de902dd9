/**
 * Finds copies of config.json that editors and operators leave next to it: swap files, backups,
 * older versions. Each may still hold the secrets that pairing removed from the file itself.
 * Changes nothing; no secret becomes a string.
 */
import { readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { readTrusted } from "../agent/files/trusted.ts";
import { AgentError } from "../base/fault.ts";

const bytesMax = 1_048_576;
const namesMax = 4_096;
const secretNames = ["mnemonic", "apiKey", "encKey"];

export interface SecretCopy {
  readonly path: string;
  readonly secrets: readonly string[]; // names, at least one
}

/** The copies next to config.json that hold a secret, as far as this user may look. */
export function findSecretCopies(config: string): readonly SecretCopy[] {
  const folder = dirname(config);
  let names: readonly string[] = [];
  try {
    names = readdirSync(folder).slice(0, namesMax);
  } catch {
    // A user who may not list the folder cannot read a copy in it either.
  }
  return names
    .filter((name) => isCopyNameOf(name, basename(config)))
    .map((name) => ({ path: join(folder, name), secrets: secretNamesIn(join(folder, name)) ?? [] }))
    .filter(({ secrets }) => secrets.length > 0);
}

/**
 * True if editors, operators or package managers give a copy this name: name~, .name.swp, #name#,
 * name.bak, name (1), name-old.
 */
export function isCopyNameOf(name: string, original: string): boolean {
  if (name === original) return false;
  const [, stem = original, extension = ""] = /^(.+?)(\.[^.]+)$/.exec(original) ?? [];
  const [whole, begin, end] = [original, stem, extension].map((part) =>
    part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"),
  );
  const added =
    "(?:[ ._-]?(?:copy|old|backup|bak|orig|save|saved|prev|new|tmp|(?:19|20)\\d\\d[\\d_-]*|\\(?\\d{1,3}\\)?|kopya))+";
  const patterns = [
    `\\.?#?${whole}(?:~\\d*~?|#|[._-].+|${added})`,
    `\\.${whole}\\.sw[a-p]`,
    `\\.#${whole}`,
    `#${whole}#`,
    `${begin}${added}${end}~?`,
    `Copy of ${whole}`,
  ];
  return patterns.some((pattern) => new RegExp(`^(?:${pattern})$`, "i").test(name));
}

/**
 * The names of the secrets in a file, found by their keys. Empty if the path is not a plain file,
 * null for a file that cannot be read. Follows no link and waits for no pipe, because another user
 * may have put either there.
 */
export function secretNamesIn(path: string): readonly string[] | null {
  try {
    // Any owner and any mode are accepted, because only the content of the copy counts.
    const bytes = readTrusted(path, bytesMax, { owner: "any", isSecret: false, isGuarded: true });
    if (bytes === null) return [];
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const found = secretNames.filter((name) => holds(text, name));
    bytes.fill(0);
    return found;
  } catch (error) {
    return error instanceof AgentError ? [] : null;
  }
}

/** True if the text has `"name" : "x…`, and x does not begin a placeholder. */
function holds(text: Buffer, name: string): boolean {
  const key = `"${name}"`;
  for (let at = text.indexOf(key); at >= 0; at = text.indexOf(key, at + 1)) {
    let next = at + key.length;
    const skip = (): void => {
      while (
        text[next] === 0x20 ||
        text[next] === 0x09 ||
        text[next] === 0x0a ||
        text[next] === 0x0d
      )
        next += 1;
    };
    skip();
    if (text[next] !== 0x3a) continue;
    next += 1;
    skip();
    const isValue = text[next] === 0x22 && text[next + 1] !== 0x22 && text[next + 1] !== 0x3c;
    if (isValue) return true;
  }
  return false;
}
