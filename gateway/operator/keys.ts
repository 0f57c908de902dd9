/**
 * `key`: makes, lists, rotates and ends API keys, and binds them to addresses. Each act is one
 * transaction with a line in the audit table, and applies to a running gateway from its next
 * request.
 */
import { type Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { type Refusal, refuse } from "../../base/fault.ts";
import { createKey, type Scope, scopes } from "../auth/keys.ts";
import { isAddressOrNetwork } from "../config/address-list.ts";
import { recordAct } from "../store/audit.ts";
import { copyKeyRights, readKey, setKeyAddresses, setKeyExpiry } from "../store/keys.ts";
import type { KeyProfile, KeyRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { addKey, formatTimestamp, type OperatorContext, revokeMerchantKey } from "./accounts.ts";
import {
  exitStatuses,
  isOkOrPrintsRefusal,
  type JsonOption,
  printJson,
  printList,
  printText,
  runInOperatorContext,
} from "./command.ts";
import { describeKey, listKeys } from "./key-list.ts";
import { addActorOptions, addConfigAndJsonOptions, readMomentOption } from "./words.ts";

const hourMs = 3_600_000;
const rotationHours = 24;
const addressesMax = 64;

function unrevokedKey(database: Database, keyId: string): KeyRow | undefined {
  const key = readKey(database, keyId);
  return key?.revokedAt === null ? key : undefined;
}

export interface RotatedKey {
  readonly ok: true;
  readonly keyId: string;
  readonly apiKey: string; // "" if the caller brought a public key
  readonly scopes: readonly Scope[];
  readonly replaces: string;
  readonly replacesUntil: string;
}

/**
 * Makes a key with the same rights as an old key. The old key ends at `endsAt`, or earlier if it
 * had an earlier end. Refuses GATEWAY_UNKNOWN_KEY, also for a revoked key. Must not be called
 * twice, because each call makes a key.
 */
export function rotateKey(
  by: OperatorContext,
  keyId: string,
  endsAt: number,
  publicKey?: string,
): RotatedKey | Refusal {
  return by.store.write((database) => {
    const old = unrevokedKey(database, keyId);
    if (old === undefined) return refuse("GATEWAY_UNKNOWN_KEY");
    const { merchant, profile, alg } = old;
    const wanted = { merchant, scopes: old.scopes.split(",") as Scope[], profile, alg };
    const made = createKey(
      database,
      { ...wanted, ...(publicKey === undefined ? {} : { publicKey }) },
      by,
    );
    copyKeyRights(database, made.keyId, old);
    const until = Math.min(endsAt, old.expiresAt ?? endsAt);
    setKeyExpiry(database, keyId, until);
    const detail = `in the place of ${keyId}, which ends ${formatTimestamp(until)}`;
    recordAct(database, {
      at: by.nowMs,
      actor: by.actor,
      act: "key rotated",
      subject: made.keyId,
      detail,
    });
    return {
      ok: true,
      ...made,
      scopes: wanted.scopes,
      replaces: keyId,
      replacesUntil: formatTimestamp(until),
    };
  });
}

/**
 * Sets when a key ends; null for never. Refuses GATEWAY_UNKNOWN_KEY, also for a revoked key.
 * Harmless to call twice.
 */
export function expireKey(
  by: OperatorContext,
  keyId: string,
  at: number | null,
): { readonly ok: true } | Refusal {
  return by.store.write((database) => {
    if (unrevokedKey(database, keyId) === undefined) return refuse("GATEWAY_UNKNOWN_KEY");
    setKeyExpiry(database, keyId, at);
    const detail = at === null ? "never" : formatTimestamp(at);
    recordAct(database, { at: by.nowMs, actor: by.actor, act: "key ends", subject: keyId, detail });
    return { ok: true };
  });
}

/**
 * Adds addresses and networks that may use a key, 64 at most. With `anywhere`, removes all of them,
 * so that any address may use the key. Refuses GATEWAY_UNKNOWN_KEY, also for a revoked key.
 * Harmless to call twice.
 */
export function allowAddresses(
  by: OperatorContext,
  keyId: string,
  added: readonly string[] | "anywhere",
): { readonly ok: true; readonly addresses: readonly string[] } | Refusal {
  return by.store.write((database) => {
    const key = unrevokedKey(database, keyId);
    if (key === undefined) return refuse("GATEWAY_UNKNOWN_KEY");
    const addresses =
      added === "anywhere"
        ? []
        : [...new Set([...addressesOf(key.allowedAddresses), ...added])].slice(0, addressesMax);
    setKeyAddresses(database, keyId, addresses);
    const detail = addresses.length === 0 ? "anywhere" : addresses.join(" ");
    recordAct(database, {
      at: by.nowMs,
      actor: by.actor,
      act: "key addresses",
      subject: keyId,
      detail,
    });
    return { ok: true, addresses };
  });
}

const addressesOf = (text: string): readonly string[] => (text === "" ? [] : text.split(","));

interface CreateOptions extends JsonOption {
  readonly merchant: string;
  readonly scopes: readonly Scope[];
  readonly profile: KeyProfile;
  readonly alg: "HS256" | "EdDSA";
  readonly publicKey?: string;
  readonly ip?: readonly string[];
}

/** The name under which a new key is shown: an apiKey pairs a server, a shopKey makes requests. */
const keyNameOf = (held: readonly string[]): "apiKey" | "shopKey" =>
  held.includes("agent:pair") ? "apiKey" : "shopKey";

/** The lines that show a key; none if the caller brought a public key. */
const keyLines = (name: "apiKey" | "shopKey", key: string): string =>
  key === "" ? "" : `\n${name.padEnd(7)} ${key}\nThis is the only time the ${name} is shown.`;

function create(options: CreateOptions): void {
  const { merchant, scopes: wanted, profile, alg, publicKey, ip = [] } = options;
  const addresses = [...new Set(ip)];
  if (alg === "EdDSA" && wanted.includes("agent:pair"))
    throw new CommanderError(exitStatuses.usage, "scopes", "agent:pair needs an HS256 key");
  if (alg === "HS256" && publicKey !== undefined)
    throw new CommanderError(exitStatuses.usage, "alg", "--public-key needs --alg EdDSA");
  runInOperatorContext(options, (by) => {
    const key = {
      merchant,
      scopes: wanted,
      profile,
      alg,
      ...(publicKey === undefined ? {} : { publicKey }),
    };
    const made = addKey(by, key, addresses);
    if (!isOkOrPrintsRefusal(made)) return;
    const { keyId, apiKey } = made;
    if (options.json === true) {
      printJson({
        keyId,
        [keyNameOf(wanted)]: apiKey,
        merchantId: merchant,
        scopes: wanted,
        profile,
        alg,
        allowedAddresses: addresses,
      });
      return;
    }
    printText(`keyId   ${keyId}\nscopes  ${wanted.join(",")}\nprofile ${profile}, ${alg}`);
    if (addresses.length > 0) printText(`from    ${addresses.join(", ")} alone`);
    if (apiKey !== "") printText(keyLines(keyNameOf(wanted), apiKey).trimStart());
  });
}

function list(options: JsonOption & { readonly merchant?: string }): void {
  runInOperatorContext(options, (by) => {
    const listed = listKeys(by, options.merchant);
    if (!isOkOrPrintsRefusal(listed)) return;
    if (options.json === true) printJson(listed.keys);
    else printList(listed.keys.map(describeKey), "No key has been made yet.");
  });
}

function rotate(
  keyId: string,
  options: JsonOption & { readonly at?: number; readonly publicKey?: string },
): void {
  runInOperatorContext(options, (by) => {
    const rotated = rotateKey(
      by,
      keyId,
      options.at ?? by.nowMs + rotationHours * hourMs,
      options.publicKey,
    );
    if (!isOkOrPrintsRefusal(rotated)) return;
    const { keyId: made, apiKey, scopes, replaces, replacesUntil } = rotated;
    const name = keyNameOf(scopes);
    if (options.json === true) {
      printJson({ keyId: made, [name]: apiKey, replaces, replacesUntil });
      return;
    }
    printText(`keyId   ${made}${keyLines(name, apiKey)}`);
    printText(`It has the rights of ${keyId}, which ends ${replacesUntil}.`);
  });
}

function expire(
  keyId: string,
  options: JsonOption & { readonly at?: number; readonly never?: boolean },
): void {
  if (options.at !== undefined && options.never === true)
    throw new CommanderError(exitStatuses.usage, "at", "--at and --never contradict each other");
  runInOperatorContext(options, (by) => {
    const at = options.never === true ? null : (options.at ?? by.nowMs);
    if (!isOkOrPrintsRefusal(expireKey(by, keyId, at))) return;
    if (options.json === true) printJson({ keyId, expiresAt: formatTimestamp(at) });
    else
      printText(at === null ? `${keyId} does not end.` : `${keyId} ends ${formatTimestamp(at)}.`);
  });
}

function allow(
  keyId: string,
  options: JsonOption & { readonly ip?: readonly string[]; readonly anywhere?: boolean },
): void {
  const { ip = [], anywhere = false } = options;
  if ((ip.length === 0) !== anywhere)
    throw new CommanderError(
      exitStatuses.usage,
      "ip",
      "give --ip at least once, or --anywhere alone",
    );
  runInOperatorContext(options, (by) => {
    const now = allowAddresses(by, keyId, anywhere ? "anywhere" : ip);
    if (!isOkOrPrintsRefusal(now)) return;
    if (options.json === true) printJson({ keyId, allowedAddresses: now.addresses });
    else printText(`${keyId} may be used from ${now.addresses.join(", ") || "anywhere"}.`);
  });
}

function end(keyId: string, options: JsonOption): void {
  runInOperatorContext(options, (by) => {
    if (!isOkOrPrintsRefusal(revokeMerchantKey(by, keyId))) return;
    if (options.json === true) printJson({ keyId, revoked: true });
    else printText(`Revoked ${keyId}.`);
  });
}

function scopeList(text: string): readonly Scope[] {
  const wanted = text.split(",").map((part) => part.trim());
  const unknown = wanted.find((part) => !(scopes as readonly string[]).includes(part));
  if (unknown !== undefined) throw new InvalidArgumentError(`known scopes: ${scopes.join(", ")}`);
  return wanted as Scope[];
}

function network(text: string, before: readonly string[] = []): readonly string[] {
  if (!isAddressOrNetwork(text))
    throw new InvalidArgumentError("an IP address or a network, such as 192.0.2.0/24");
  if (before.length >= addressesMax)
    throw new InvalidArgumentError(`at most ${addressesMax} of them`);
  return [...before, text];
}

export function addKeyCommands(program: Command): void {
  const key = program.command("key").alias("keys").description("API keys");
  addActorOptions(key.command("create").description("add one"))
    .requiredOption("--merchant <id>", "whose")
    .option("--scopes <list>", `of ${scopes.join(",")}`, scopeList, ["read", "deposit"])
    .addOption(
      new Option(
        "--profile <profile>",
        "strict binds each token to its request; interface sends no field beside the interface's",
      )
        .choices(["compatible", "strict", "interface"])
        .default("compatible"),
    )
    .addOption(
      new Option("--alg <alg>", "how its tokens are signed")
        .choices(["HS256", "EdDSA"])
        .default("HS256"),
    )
    .option("--public-key <hex>", "EdDSA: your own public key, 32 bytes")
    .option(
      "--ip <cidr>",
      "from this address or network alone; may be given several times",
      network,
    )
    .action(create);
  addConfigAndJsonOptions(
    key
      .command("list", { isDefault: true })
      .description("all of them, or one merchant's; never a secret"),
  )
    .option("--merchant <id>", "whose")
    .action(list);
  addActorOptions(
    key
      .command("rotate")
      .description("make one with the same rights; this one ends a day later")
      .argument("<keyId>"),
  )
    .option("--at <time>", "when this one ends, in the place of a day from now", readMomentOption)
    .option("--public-key <hex>", "EdDSA: your own new public key, 32 bytes")
    .action(rotate);
  addActorOptions(
    key.command("expire").description("set when a key expires (default: now)").argument("<keyId>"),
  )
    .option("--at <time>", "when, in UTC", readMomentOption)
    .option("--never", "take its end away")
    .action(expire);
  addActorOptions(
    key.command("allow").description("say from where one may be used").argument("<keyId>"),
  )
    .option("--ip <cidr>", "also from this address or network; may be given several times", network)
    .option("--anywhere", "from everywhere again")
    .action(allow);
  addActorOptions(
    key.command("revoke").description("end one, permanently").argument("<keyId>"),
  ).action(end);
}
