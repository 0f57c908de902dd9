/**
 * Reads config.json, strictly: only its owner may read the file, every key is known, every value
 * checked, and the three secrets come out as bytes that never were strings. Touches that one file.
 * The format is in docs/operations.md.
 */
import { resolve } from "node:path";
import { AgentError, runNamingFile } from "../../base/fault.ts";
import { assertVisible } from "../../base/invisible.ts";
import type { JsonValue } from "../../base/json.ts";
import { parseSettings } from "../../base/settings.ts";
import { privateFileBytesMax, readPrivateFile } from "../files/private-file.ts";
import type { AgentSettings } from "./settings.ts";
import { readSettings, secretNames } from "./shape.ts";
import { blankFields, decodeJsonStringBytes, findMembers } from "./text.ts";

export type SecretName = (typeof secretNames)[number];

/** The secrets of the file, as bytes; the caller wipes them. */
export type ConfigSecrets = { readonly [name in SecretName]?: Uint8Array };

export interface Config {
  readonly path: string; // absolute
  readonly settings: AgentSettings;
  readonly secrets: ConfigSecrets;
}

export interface ConfigOptions {
  /** Secrets that must stand in the file. A placeholder or a missing secret is a fault. */
  readonly requireSecrets: readonly SecretName[];
  /**
   * A folder of the service manager, only for this process ($CREDENTIALS_DIRECTORY). The folder
   * makes its files private.
   */
  readonly privateFolder?: string | undefined;
  /**
   * An operator named this very file, so any user may own it. A file that the program finds must
   * belong to root or this user.
   */
  readonly isNamed?: boolean;
}

const placeholders: Readonly<Record<SecretName, string>> = {
  mnemonic: "<MNEMONIC>",
  apiKey: "<API_KEY>",
  encKey: "<ENCRYPTION_KEY>",
};

/**
 * Reads and checks the complete file. Reading changes nothing.
 * @throws AgentError CONFIG_*, FILE_*; context `hint` if there is a better one than the code's own.
 */
export function readConfig(file: string, options: ConfigOptions): Config {
  const path = resolve(file);
  const { privateFolder, isNamed = false } = options;
  const bytes = readPrivateFile(path, { privateFolder, owner: isNamed ? "any" : "own" });
  try {
    const value = parseText(path, bytes);
    const settings = runNamingFile(path, () => readSettings(value));
    const secrets = runNamingFile(path, () => takeSecrets(bytes, value, options.requireSecrets));
    return { path, settings, secrets };
  } finally {
    bytes.fill(0);
  }
}

function parseText(path: string, bytes: Uint8Array): JsonValue {
  if (bytes.every((byte) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09)) {
    throw new AgentError("CONFIG_JSON", "none", `${path} is empty`, {
      hint: "copy config.example.json, or write it again at the gateway",
    });
  }
  const safe = blankFields(bytes, secretNames);
  assertVisible(safe, `${path}, `);
  return parseSettings(safe, path, {
    bytesMax: privateFileBytesMax,
    keysMax: 1024,
    itemsMax: 4096,
  });
}

function takeSecrets(
  bytes: Uint8Array,
  value: JsonValue,
  required: readonly SecretName[],
): ConfigSecrets {
  const found: { [name in SecretName]?: Uint8Array } = {};
  const places = new Map(findMembers(bytes).map((member) => [member.key, member]));
  const open: SecretName[] = [];
  for (const name of secretNames) {
    const place = places.get(name);
    const stands = (value as Readonly<Record<string, JsonValue>>)[name] !== undefined;
    if (stands && place === undefined)
      throw new AgentError(
        "CONFIG_SECRET",
        "none",
        `the key ${name} must be written without escapes`,
      );
    const secret =
      place === undefined
        ? new Uint8Array(0)
        : decodeJsonStringBytes(bytes.subarray(place.valueStart, place.end));
    if (secret === null)
      throw new AgentError(
        "CONFIG_SECRET",
        "none",
        `${name} holds ${oddOf(bytes.subarray(place?.valueStart, place?.end))}`,
      );
    if (secret.length > 0 && !isPlaceholder(secret, name)) found[name] = secret;
    else if (required.includes(name)) {
      if (secret.length === 0)
        throw new AgentError("CONFIG_SECRET_MISSING", "none", `${name} is missing`);
      open.push(name);
    }
  }
  if (open.length > 0) {
    const which = open.map((name) => `${name} (${placeholders[name]})`).join(", ");
    throw new AgentError(
      "CONFIG_PLACEHOLDER",
      "none",
      `still to be replaced with your own: ${which}`,
    );
  }
  return found;
}

/**
 * The reason why a secret is no JSON string, by its most common cause: a line break from copied
 * text.
 */
function oddOf(text: Uint8Array): string {
  if (text.includes(0x0a) || text.includes(0x0d)) return "a line break: write it on one line";
  if (text.includes(0x09)) return "a tab: write a space";
  return "an escape or a character that JSON does not have";
}

function isPlaceholder(secret: Uint8Array, name: SecretName): boolean {
  return (
    Buffer.from(placeholders[name]).equals(secret) || (secret[0] === 0x3c && secret.at(-1) === 0x3e)
  );
}
