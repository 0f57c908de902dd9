/**
 * Pairing, step by step: seal the wallet, check it, prove its keys, register, begin the ledger,
 * take the secrets out of config.json. Every step is durable before the next. So a run that was
 * cut, or found the gateway away, goes on at the same step. Only the sealing process gets the
 * mnemonic, and only the registering one apiKey; both are wiped here at once.
 */

import { randomBytes } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  type Config,
  type ConfigSecrets,
  readConfig,
  type SecretName,
} from "../../agent/config/config.ts";
import { writeLinkFile } from "../../agent/config/link-file.ts";
import { findConfigFile, findEncKeyCredential } from "../../agent/config/location.ts";
import { egressOf } from "../../agent/config/network.ts";
import {
  describeGatewayNodes,
  listChainsOnGatewayNodes,
} from "../../agent/config/nodes-of-gateway.ts";
import { keystoreName } from "../../agent/files/keystore-name.ts";
import { giveToOwner } from "../../agent/files/owner.ts";
import { readPrivateFile } from "../../agent/files/private-file.ts";
import { replaceFile } from "../../agent/files/replace-file.ts";
import {
  isThere,
  makePrivateFolder,
  type StateFolder,
  stateFolder,
} from "../../agent/files/state-folder.ts";
import { readTrusted } from "../../agent/files/trusted.ts";
import { type EncKey, findEncKey } from "../../agent/launcher/enc-key.ts";
import { type FolderLock, lockWaitMs, takeLock } from "../../agent/launcher/lock.ts";
import { assertPairingComplete } from "../../agent/launcher/paired.ts";
import { ledgerDisk } from "../../agent/ledger/disk.ts";
import { AgentError, invariant } from "../../base/fault.ts";
import { parseAddressOnAny } from "../../chains/address-forms.ts";
import { privateKeyFromSeed, publicKeyHex } from "../../protocol/envelope.ts";
import type { PairingTranscript } from "../../protocol/messages.ts";
import { parseApiKey } from "../../protocol/pairing.ts";
import { findNetworklessCommand } from "../child.ts";
import type { VerifiedGrant } from "../registering/answer.ts";
import type { SealedWallet, SealingSettings } from "../sealing/answer.ts";
import type { Terminal } from "../terminal.ts";
import { beginLedger, proveWallet, registerAgent, sealWallet } from "./children.ts";
import { isStepCompleted, type Progress, readProgress, writeProgress } from "./progress.ts";
import { scrubFile } from "./scrub.ts";
import { accountsFor, currenciesOf, networksOf } from "./transcript-fields.ts";

/*
 * Shows the steps of pairing to the operator: one line for each step, its name first, then its
 * outcome.
 */

const nameWidth = 13;

/** Lines go to stdout, or to stderr when stdout is for JSON. */
class Steps {
  readonly #write: (text: string) => void;
  readonly #isLive: boolean;
  #begun = "";

  constructor(terminal: Terminal, isJson: boolean) {
    this.#write = isJson ? terminal.err : terminal.out;
    this.#isLive = terminal.isInteractive && !isJson;
  }

  /** On a terminal the name is shown while the step runs. */
  begin(name: string): void {
    this.#begun = name;
    if (this.#isLive) this.#write(`  ${name.padEnd(nameWidth)}`);
  }

  end(outcome: string): void {
    this.#write(this.#isLive ? `${outcome}\n` : `  ${this.#begun.padEnd(nameWidth)}${outcome}\n`);
    this.#begun = "";
  }

  /** A failed step leaves its name on the line, so the line is ended before the error. */
  abandon(): void {
    if (this.#begun !== "" && this.#isLive) this.#write("\n");
    this.#begun = "";
  }

  say(name: string, outcome: string): void {
    this.begin(name);
    this.end(outcome);
  }
}

/*
 * Pairing's request to the gateway: the transcript, and the link key's seed, which is kept until
 * link.json holds it.
 */

const seedBytes = 32;

/**
 * Made again for each request, because a gateway refuses a transcript that is not newer than the
 * last granted one.
 */
function transcriptOf(
  { wallet, networks, currencies }: Progress,
  apiKey: Uint8Array,
  linkSeed: Uint8Array,
): string {
  const { keyId, fingerprint, secret } = parseApiKey(apiKey);
  secret.fill(0);
  const transcript: PairingTranscript = {
    version: 1,
    keyId,
    gatewayFingerprint: fingerprint,
    signerKey: wallet.signerKey,
    linkKey: publicKeyHex(privateKeyFromSeed(linkSeed)),
    wallet: wallet.wallet,
    networks,
    accounts: wallet.accounts,
    currencies,
    nonce: randomBytes(32).toString("hex"),
    at: Date.now(),
  };
  return JSON.stringify(transcript);
}

/** Made only once and kept until link.json has it, so a second try registers the same keys. */
function linkSeed(state: StateFolder): Uint8Array {
  const path = join(state.courier, "link.seed");
  if (isThere(path)) return readSeed(path);
  const seed = randomBytes(seedBytes);
  makePrivateFolder(state.courier);
  replaceFile(path, seed, 0o600);
  return seed;
}

/**
 * Reads the seed. The courier owns the folder, and an attacker may control the courier.
 * @throws AgentError PAIRING_PROGRESS, FILE_*
 */
function readSeed(path: string): Uint8Array {
  const seed = readTrusted(path, seedBytes, { owner: "folder", isSecret: true });
  if (seed?.length === seedBytes) return seed;
  throw new AgentError("PAIRING_PROGRESS", "none", `${path} is not the seed that pairing wrote`);
}

export interface PairOptions {
  readonly config?: string | undefined;
  readonly state?: string | undefined;
  readonly mnemonicFile?: string | undefined;
  readonly apiKeyFile?: string | undefined;
  readonly encKeyFile?: string | undefined;
  readonly encKeyFd?: number | undefined;
  readonly expectAddress?: string | undefined; // of the hot wallet
  readonly yes?: boolean | undefined;
  readonly json?: boolean | undefined;
}

export interface PairResult {
  readonly progress: Progress;
  readonly state: StateFolder;
  readonly alreadyPaired: boolean;
  /**
   * Secrets of config.json that pairing should remove but that nobody confirmed; empty when all is
   * done.
   */
  readonly kept: readonly SecretName[];
}

interface PairingRun {
  readonly state: StateFolder;
  readonly config: Config;
  readonly options: PairOptions;
  readonly terminal: Terminal;
  readonly steps: Steps;
  readonly credentials: string | undefined; // $CREDENTIALS_DIRECTORY
  encKey: EncKey | null; // set from its first use on; wiped when the run ends
}

/**
 * Pairs, or goes on with an earlier pairing. A second run on a paired folder only removes secrets
 * that came back into config.json.
 * @throws AgentError CONFIG_*, MNEMONIC_*, ENCKEY_*, KEYSTORE_*, LEDGER_*, LINK_FILE_WRITE,
 * PAIRING_*, STATE_*
 */
export async function pairAgent(
  options: PairOptions,
  terminal: Terminal,
  credentials: string | undefined,
): Promise<PairResult> {
  const state = stateFolder(options.state);
  try {
    return await pairIn(state, options, terminal, credentials);
  } finally {
    // Runs even if nothing was left to pair, because a run that was cut may have left files that
    // only root can read.
    for (const folder of [state.signer, state.courier]) giveToOwner(folder);
  }
}

async function pairIn(
  state: StateFolder,
  options: PairOptions,
  terminal: Terminal,
  credentials: string | undefined,
): Promise<PairResult> {
  const before = readProgress(state);
  assertPairingComplete(state);
  const config = openConfig(options, before, terminal.isInteractive || credentials !== undefined);
  if (
    before !== null &&
    isStepCompleted(before, "scrubbed") &&
    (config === null || !holdsScrubbed(config.secrets))
  ) {
    if (config !== null) wipe(config.secrets);
    return { progress: before, state, alreadyPaired: true, kept: [] };
  }
  invariant(config !== null, "config.json may be missing only once pairing is done");
  const steps = new Steps(terminal, options.json === true);
  let lock: FolderLock | null = null;
  const run: PairingRun = { state, config, options, terminal, credentials, steps, encKey: null };
  try {
    if (!isStepCompleted(before, "granted")) assertApiKeyForm(config, options);
    lock = await takeLock(state.signer, lockWaitMs);
    return await runSteps(run);
  } finally {
    run.encKey?.bytes.fill(0);
    steps.abandon();
    wipe(config.secrets);
    lock?.release();
  }
}

async function runSteps(run: PairingRun): Promise<PairResult> {
  const { state } = run;
  const before = readProgress(state);
  assertNoForeignLedger(state, before);
  const wallet = await sealed(run, before);
  let progress =
    before !== null && isStepCompleted(before, "granted") ? before : await granted(run, wallet);
  if (!isStepCompleted(progress, "registered")) {
    progress = await begun(run, progress);
  }
  for (const name of listChainsOnGatewayNodes(run.config.settings))
    run.steps.say("nodes", `AGENT_NODES_OF_GATEWAY: ${describeGatewayNodes(name)}`);
  const kept = await scrubbedConfig(run, run.encKey?.from ?? null);
  if (kept.length === 0 && !isStepCompleted(progress, "scrubbed")) {
    progress = { ...progress, step: "scrubbed" };
    writeProgress(state, progress);
  }
  return { progress, state, alreadyPaired: isStepCompleted(before, "registered"), kept };
}

/**
 * Registers the present values of config.json, because the gateway may have refused an earlier
 * sealed pairing over them.
 */
async function granted(run: PairingRun, wallet: SealedWallet): Promise<Progress> {
  const { settings } = run.config;
  const sealedOnly: Progress = {
    version: 1,
    step: "sealed",
    wallet,
    networks: networksOf(settings),
    currencies: currenciesOf(settings),
    gatewayUrl: settings.gatewayUrl,
    granted: null,
    word: "",
  };
  writeProgress(run.state, sealedOnly);
  const progress: Progress = {
    ...sealedOnly,
    step: "granted",
    granted: await registered(run, sealedOnly),
  };
  writeProgress(run.state, progress);
  return progress;
}

/** Null only if pairing is done and the file is gone, because nothing in it is needed then. */
function openConfig(
  options: PairOptions,
  progress: Progress | null,
  isEncKeyAsked: boolean,
): Config | null {
  const path = findConfigFile(options.config);
  if (isStepCompleted(progress, "scrubbed") && !existsSync(path)) return null;
  const required: SecretName[] = [];
  if (!isStepCompleted(progress, "sealed") && options.mnemonicFile === undefined)
    required.push("mnemonic");
  if (!isStepCompleted(progress, "granted") && options.apiKeyFile === undefined)
    required.push("apiKey");
  const isEncKeyNamed = options.encKeyFile !== undefined || options.encKeyFd !== undefined;
  const isEncKeyGiven = isEncKeyAsked || isEncKeyNamed || findEncKeyCredential(path) !== undefined;
  if (!isStepCompleted(progress, "registered") && !isEncKeyGiven) required.push("encKey");
  return readConfig(path, { requireSecrets: required, isNamed: options.config !== undefined });
}

function holdsScrubbed(secrets: ConfigSecrets): boolean {
  return secrets.mnemonic !== undefined || secrets.apiKey !== undefined;
}

/** A folder with a ledger but without progress belongs to an agent that may have paid already. */
function assertNoForeignLedger(state: StateFolder, progress: Progress | null): void {
  if (
    isStepCompleted(progress, "granted") ||
    ledgerDisk(join(state.signer, "ledger")).list().length === 0
  )
    return;
  throw new AgentError(
    "PAIRING_PROGRESS",
    "none",
    `${state.signer} holds a ledger, yet pairing never came that far`,
  );
}

async function sealed(run: PairingRun, progress: Progress | null): Promise<SealedWallet> {
  const { config, options, state, steps } = run;
  // A second keystore of the same words would have another signer key, which the gateway does not
  // know.
  if (progress !== null && !isThere(join(state.signer, keystoreName))) {
    throw new AgentError(
      "PAIRING_PROGRESS",
      "none",
      `the wallet was sealed, yet ${state.signer} holds no keystore`,
    );
  }
  const mnemonic =
    options.mnemonicFile === undefined
      ? config.secrets.mnemonic
      : readLine(options.mnemonicFile, "--mnemonic-file");
  if (mnemonic === undefined) {
    invariant(progress !== null, "the mnemonic is required until the wallet is sealed");
    return progress.wallet;
  }
  const within = findNetworklessCommand();
  const wanted = {
    folder: state.signer,
    networks: networksOf(config.settings),
    expected: expectedAddress(config.settings, options),
  };
  try {
    if (progress === null && wanted.expected.length === 0)
      await assertOwnWallet(run, wanted, mnemonic);
    const encKey = await encKeyOf(run);
    steps.begin("sealing");
    const { made, ...wallet } = await sealWallet(
      run.terminal,
      { ...wanted, isLook: false },
      { mnemonic, encKey },
      within,
    );
    const where =
      within === null
        ? "no network module loaded; this machine permits no closed network"
        : "in a process without a network";
    steps.end(made ? `the wallet, ${where}` : `the wallet was sealed before and is the same`);
    if (progress !== null && progress.wallet.signerKey !== wallet.signerKey) {
      throw new AgentError(
        "PAIRING_PROGRESS",
        "none",
        `${join(state.signer, keystoreName)} is another keystore than the one pairing was begun with`,
      );
    }
    steps.say("checking", "the keystore read back gives the same addresses");
    return wallet;
  } finally {
    mnemonic.fill(0);
  }
}

/**
 * The forms of the expected address on the networks of the settings; none if no address is
 * expected. @throws AgentError COMMAND_USAGE for a text that is no address
 */
function expectedAddress(
  settings: Parameters<typeof networksOf>[0],
  { expectAddress = "" }: PairOptions,
): readonly string[] {
  if (expectAddress === "") return [];
  const parsed = parseAddressOnAny(expectAddress, networksOf(settings));
  if (parsed.ok) return parsed.addresses;
  throw new AgentError(
    "COMMAND_USAGE",
    "none",
    `--expect-address is no address of a hot wallet (${parsed.code})`,
  );
}

/**
 * Asks an operator whether the mnemonic's addresses are those of the wallet. A wallet with a BIP-39
 * passphrase, and one on another path, has other addresses, and money would be sent there.
 * @throws AgentError PAIRING_OTHER_WALLET
 */
async function assertOwnWallet(
  { terminal, options }: PairingRun,
  wanted: Omit<SealingSettings, "isLook">,
  mnemonic: Uint8Array,
): Promise<void> {
  if (!terminal.isInteractive || options.yes === true) return;
  const secrets = { mnemonic, encKey: new Uint8Array(0) };
  const { accounts } = await sealWallet(
    terminal,
    { ...wanted, isLook: true },
    secrets,
    findNetworklessCommand(),
  );
  const lines = accountsFor(accounts, "hot", wanted.networks).map(
    ({ id, networks }) => `    ${id}  (${networks.join(", ")})`,
  );
  terminal.err(`
  The mnemonic pays from, and is to be funded at:
${lines.join("\n")}
  Compare with the first address that your wallet shows. A wallet with a BIP-39
  passphrase (a 25th word) shows another one, and is not supported.
`);
  if (await terminal.confirm("  Is this the wallet's address? (yes/no) ")) return;
  throw new AgentError("PAIRING_OTHER_WALLET", "none", "not answered with yes: nothing was sealed");
}

/** Found only once in a run, so an operator types it only once. */
async function encKeyOf(run: PairingRun): Promise<Uint8Array> {
  const { config, options, terminal } = run;
  run.encKey ??= await findEncKey({
    credentials: run.credentials,
    file: options.encKeyFile,
    fd: options.encKeyFd,
    config: config.secrets.encKey,
    sealed: findEncKeyCredential(config.path),
    terminal: terminal.isInteractive ? process.stdin : undefined,
    show: terminal.err,
  });
  return run.encKey.bytes;
}

async function registered(run: PairingRun, progress: Progress): Promise<VerifiedGrant> {
  const { config, options, state, steps } = run;
  const apiKey = apiKeyOf(config, options);
  invariant(apiKey !== undefined, "apiKey is required until the gateway granted");
  const seed = linkSeed(state);
  try {
    const transcript = transcriptOf(progress, apiKey, seed);
    steps.begin("proving");
    const by = { folder: state.signer, encKey: await encKeyOf(run) };
    const proven = await proveWallet(run.terminal, transcript, by, findNetworklessCommand());
    steps.end("the signer's key and the key of each account signed the request");
    steps.begin("registering");
    const egress = egressOf(config.settings.network) ?? undefined;
    const settings = { gatewayUrl: progress.gatewayUrl, transcript, proven, egress };
    const answer = await registerAgent(run.terminal, settings, { apiKey, linkSeed: seed });
    steps.end(`at ${progress.gatewayUrl}`);
    return answer;
  } finally {
    apiKey.fill(0);
    seed.fill(0);
  }
}

/**
 * Begins the ledger, then writes the link: `crypto` starts only if both are there. The ledger's
 * first record is written before either counts.
 */
async function begun(run: PairingRun, progress: Progress): Promise<Progress> {
  const { state, terminal } = run;
  const { granted, gatewayUrl } = progress;
  invariant(granted !== null, "the gateway granted before the ledger begins");
  const task = { signer: state.signer, pairing: progress, isRedone: false, nowMs: terminal.now() };
  const { word } = await beginLedger(terminal, task, await encKeyOf(run));
  writeProgress(state, { ...progress, word });
  const seedPath = join(state.courier, "link.seed");
  if (isThere(seedPath)) {
    const seed = readSeed(seedPath);
    const { agent, ledgerEpoch, gatewayKey } = granted;
    writeLinkFile(state.courier, { agent, ledgerEpoch, gatewayKey, linkSeed: seed, gatewayUrl });
    seed.fill(0);
    rmSync(seedPath);
  }
  const registered: Progress = { ...progress, step: "registered", word };
  writeProgress(state, registered);
  return registered;
}

/**
 * Returns the secrets that stay there. Without a yes the agent is paired, and config.json keeps its
 * secrets until the next run.
 */
async function scrubbedConfig(
  run: PairingRun,
  encKeyFrom: EncKey["from"] | null,
): Promise<readonly SecretName[]> {
  const { config, options, terminal, steps } = run;
  const isEncKeyElsewhere = encKeyFrom !== null && encKeyFrom !== "config";
  const names = (
    ["mnemonic", "apiKey", ...(isEncKeyElsewhere ? (["encKey"] as const) : [])] as const
  ).filter((name) => config.secrets[name] !== undefined);
  if (names.length === 0) return [];
  if (names.includes("mnemonic") && options.yes !== true && !(await isWrittenDown(terminal)))
    return names;
  scrubFile(config.path, names);
  const stays =
    config.secrets.encKey !== undefined && !isEncKeyElsewhere ? "; encKey stays there" : "";
  steps.say("scrubbing", `${names.join(" and ")} taken out of ${config.path}${stays}`);
  return [];
}

async function isWrittenDown(terminal: Terminal): Promise<boolean> {
  if (!terminal.isInteractive) return false;
  terminal.err(
    `\n  config.json is about to lose the mnemonic; the keystore cannot give it back.\n`,
  );
  return terminal.confirm("  Is it written down in another place? (yes/no) ");
}

function apiKeyOf({ secrets }: Config, { apiKeyFile }: PairOptions): Uint8Array | undefined {
  return apiKeyFile === undefined ? secrets.apiKey : readLine(apiKeyFile, "--api-key-file");
}

/** Runs before anything is made on disk, because a badly copied key is the most likely mistake. */
function assertApiKeyForm(config: Config, options: PairOptions): void {
  const apiKey = apiKeyOf(config, options);
  invariant(apiKey !== undefined, "apiKey is required until the gateway granted");
  try {
    parseApiKey(apiKey).secret.fill(0);
  } finally {
    if (options.apiKeyFile !== undefined) apiKey.fill(0);
  }
}

/** A secret's file, without the line end that editors leave. */
function readLine(path: string, option: string): Uint8Array {
  const bytes = readPrivateFile(path, {
    hint: `name with ${option} a file that this user may read`,
  });
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] === 0x0a || bytes[end - 1] === 0x0d)) end -= 1;
  return bytes.subarray(0, end);
}

function wipe(secrets: ConfigSecrets): void {
  for (const secret of Object.values(secrets)) secret?.fill(0);
}
