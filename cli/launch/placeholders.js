/**
 * A look into config.json before anything is installed: whether a placeholder still stands where a
 * secret belongs. It compares bytes and makes no text of the file, which may hold secrets. Cases
 * that it cannot decide are left to pairing. Plain JavaScript, since it runs before anything is
 * built.
 */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** Each secret, the options that bring it from elsewhere, and its placeholder. */
const secrets = [
  ["mnemonic", ["--mnemonic-file"], "<MNEMONIC>"],
  ["apiKey", ["--api-key-file"], "<API_KEY>"],
  ["encKey", ["--enc-key-file", "--enc-key-fd"], "<ENCRYPTION_KEY>"],
];

/** The value of an option as pairing reads it; undefined when it is not given. */
function given(words, option) {
  const at = words.indexOf(option);
  if (at >= 0) return words[at + 1];
  return words.find((word) => word.startsWith(`${option}=`))?.slice(option.length + 1);
}

/** The state folder of a pairing that was begun may do without what config.json lacks. */
function isBegun(words, environment) {
  const own = environment.XDG_DATA_HOME || join(homedir(), ".local", "share");
  const state =
    given(words, "--state") || environment.AUTOWITHDRAW_STATE || join(own, "autowithdraw");
  return existsSync(join(state, "pairing.json"));
}

/**
 * The placeholders that pairing would stop at, such as `mnemonic (<MNEMONIC>)`; none where the file
 * cannot be read. `isAsked` says that encKey may come from a terminal or a credential.
 */
export function placeholdersLeft(root, words, environment, isAsked) {
  const path = resolve(
    given(words, "--config") || environment.AUTOWITHDRAW_CONFIG || join(root, "config.json"),
  );
  if (isBegun(words, environment)) return [];
  let bytes;
  try {
    bytes = readFileSync(path);
  } catch {
    return [];
  }
  const left = secrets.filter(
    ([name, options, placeholder]) =>
      bytes.includes(`"${placeholder}"`) &&
      !(name === "encKey" && isAsked) &&
      options.every((option) => given(words, option) === undefined),
  );
  bytes.fill(0);
  return left.map(([name, , placeholder]) => `${name} (${placeholder})`);
}
