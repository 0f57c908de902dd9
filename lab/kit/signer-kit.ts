/**
 * A signer in memory (real core, ledger and vault) and the gateway's side of the talk, honest by
 * default. Time stands until a test moves it; nothing becomes durable before `settle`.
 */
import { createPublicKey, type KeyObject } from "node:crypto";
import { mnemonicToSeedSync } from "bip39";
import type { SignerSettings } from "../../agent/config/settings.ts";
import { deriveAccounts, walletFingerprintOfAccounts } from "../../agent/keystore/nodes.ts";
import { Secret } from "../../agent/keystore/secret.ts";
import { createLedger, openLedger } from "../../agent/ledger/ledger.ts";
import type { LedgerRecord } from "../../agent/ledger/records.ts";
import { SignerRun } from "../../agent/signer/handlers/context.ts";
import { readRules } from "../../agent/signer/policy/rules.ts";
import { Signer, type SignerParts } from "../../agent/signer/runtime/signer.ts";
import { StopMark } from "../../agent/signer/runtime/stop-mark.ts";
import { createCourierRequestHandler } from "../../agent/signer/sockets/courier.ts";
import { readRequest } from "../../agent/signer/sockets/line-server.ts";
import {
  createOperatorRequestHandler,
  operatorViewOf,
} from "../../agent/signer/sockets/operator.ts";
import { Core, type CoreSnapshot } from "../../agent/signer/state/core.ts";
import { ledgerTime } from "../../agent/signer/state/ledger-time.ts";
import { unlockVault, type Vault } from "../../agent/signer/vault/vault.ts";
import { attemptsApartMs } from "../../agent/socket/limits.ts";
import { encodeMessage, withFrames } from "../../agent/socket/line.ts";
import { type CourierOffer, framedOffer } from "../../agent/socket/offered.ts";
import type { OperatorView, PushMessage } from "../../agent/socket/verbs.ts";
import { agentEvents } from "../../base/events.ts";
import { parseJson } from "../../base/json.ts";
import { networkOf } from "../../chains/families.ts";
import type { AddressSpaceName } from "../../chains/family.ts";
import { openEnvelope, publicKeyHex } from "../../protocol/envelope.ts";
import { zeroHash } from "../../protocol/identity.ts";
import type { Job, Statement } from "../../protocol/messages.ts";
import { parseStatement } from "../../protocol/payloads.ts";
import type { Sightings } from "../../protocol/sightings.ts";
import type { AnyAnswer } from "./any-answer.ts";
import { GatewaySide } from "./gateway-side.ts";
import { MemoryDisk } from "./ledger-disk.ts";
import { testSeal } from "./ledger-seal.ts";
import { orderAsked, pinAsked } from "./pin-asked.ts";

export type { AnyAnswer } from "./any-answer.ts";

export const agentId = "aa".repeat(8);
export const merchant = "m1";
export const token = "0xdAC17F958D2ee523a2206206994597C13D831ec7";
export const otherToken = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
export const shop = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
/** Begins and ends as `shop` does, in other letters' case. */
export const twin = "0x7099abababababAbaBaBABaBaBabAbAbaBA179c8";
export const other = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
export const begun = 1_700_000_000_000;
const words = "test test test test test test test test test test test junk";

/** A wallet with its keys. */
interface Keys {
  readonly wallet: string;
  readonly vault: Vault;
}

/** Accounts of the test mnemonic, for the networks of one family. */
export function keysOf(family: AddressSpaceName, networks: readonly string[]): Keys {
  const accounts = deriveAccounts(new Uint8Array(mnemonicToSeedSync(words)), [family]);
  const wallet = walletFingerprintOfAccounts(accounts);
  return {
    wallet,
    vault: unlockVault({
      wallet,
      networks,
      accounts,
      signerSeed: new Secret(new Uint8Array(32).fill(7)),
    }),
  };
}

export const { wallet, vault } = keysOf("evm", ["eip155:31337"]);
export const own = vault.accounts;
export const hotWallet = own[0]!.id;

export const settings: SignerSettings = {
  chains: { local: { family: "evm", chainId: 31337 }, mainnet: { family: "evm", chainId: 1 } },
  currencies: {
    eth: { chain: "local", decimal: 18 },
    usdt: { chain: "local", decimal: 6, contract: token },
    usdc: { chain: "mainnet", decimal: 6, contract: otherToken },
  },
  policy: {
    eth: {
      maxPerWithdrawal: "2",
      maxPerHour: "5",
      maxPerDay: "10",
      maxFee: "0.01",
      maxFeePerDay: "0.1",
      holdAbove: "1",
    },
    usdt: { maxPerWithdrawal: "1000", maxPerDay: "1000000", maxFee: "0.01", maxFeePerDay: "10" },
  },
  stuckAfterMinutes: 60,
  stateDir: "",
  courierSocket: "",
  operatorSocket: "",
  encKeyFrom: "config",
  config: { path: "/config.json", digest: "c0".repeat(32), readAt: 1, readMs: 1 },
};

/** The gateway side's knowledge of this signer. */
export const known = { agentId, wallet, merchant, receiver: shop, begun };

export const txParams = {
  gasLimit: "65000",
  maxFeePerGas: "2000000000",
  maxPriorityFeePerGas: "1000000000",
};

export interface KitOptions {
  readonly settings?: SignerSettings;
  readonly segmentBytesMax?: number;
  readonly gatewayKey?: KeyObject;
  /** Others than those of `vault`. */
  readonly keys?: Keys;
  /** When what is put off happens; at once unless told. */
  readonly turns?: Partial<Pick<SignerParts, "soon" | "later" | "next">>;
  /** A folder with a ledger in it, to be opened instead of beginning one. */
  readonly found?: MemoryDisk;
}

export class Kit {
  readonly gateway: GatewaySide;
  readonly pushes: PushMessage[] = [];
  readonly logged: string[] = [];
  /** Every raw transaction that left the signer in an answer or push. */
  readonly left = new Set<string>();
  readonly statements: Statement[] = [];
  readonly #records: LedgerRecord[] = [];
  readonly #options: KitOptions;
  disk: MemoryDisk = new MemoryDisk();
  /** The state folder around the ledger's. */
  beside: MemoryDisk = new MemoryDisk();
  /** The time that passes, which is also the gateway's. */
  now = begun;
  /** How far the signer's local clock is ahead of it. */
  skew = 0;
  poisoned: string | null = null;
  gaveWay = 0; // to a courier with a newer config.json
  signer!: Signer;
  #run = 0;
  #nextId = 1;
  #courier!: ReturnType<typeof createCourierRequestHandler>;
  #operator!: ReturnType<typeof createOperatorRequestHandler>;

  constructor(options: KitOptions = {}) {
    this.#options = options;
    this.gateway = new GatewaySide(
      { ...known, wallet: this.keys.wallet },
      () => this.now,
      options.gatewayKey,
    );
    const gatewayKey = publicKeyHex(this.gateway.key);
    if (options.found !== undefined) this.disk = options.found;
    else
      createLedger(
        this.disk,
        {
          kind: "PAIRED",
          agent: agentId,
          merchant,
          wallet: this.keys.wallet,
          ledgerEpoch: 1,
          gatewayKey,
        },
        () => this.now,
        testSeal,
      );
    this.start();
  }

  get core(): Core {
    return this.signer.core;
  }

  get nonce(): string {
    return this.signer.run.runId;
  }

  /** Others than at the beginning, from the next start on. */
  edited: SignerSettings | null = null;

  get keys(): Keys {
    return this.#options.keys ?? { wallet, vault };
  }

  get settings(): SignerSettings {
    return this.edited ?? this.#options.settings ?? settings;
  }

  /** Another disk takes the place of this one: what was read of it before says nothing any more. */
  forget(): void {
    this.#records.length = 0;
  }

  /** Opens the ledger on the disk as it is and begins a run, as the process does. */
  start(): void {
    const clock = (): number => this.now + this.skew;
    const monotonic = (): number => this.now;
    this.#run += 1;
    const run = new SignerRun(this.#run.toString(16).padStart(64, "0"), clock());
    const { ledger, checkpoint, records } = openLedger({
      ...{ disk: this.disk, seal: testSeal, clock: () => ledgerTime(run, clock(), monotonic()) },
      ...(this.#options.segmentBytesMax === undefined
        ? {}
        : { segmentBytesMax: this.#options.segmentBytesMax }),
    });
    const snapshot = (checkpoint as CoreSnapshot | null) ?? undefined;
    const core = new Core(
      readRules(this.settings, this.keys.vault.accounts),
      ledger.past,
      snapshot,
    );
    for (const record of records) core.apply(record);
    this.poisoned = null;
    this.signer = new Signer({
      ...{
        core,
        ledger,
        run,
        clock,
        monotonic,
        vault: this.keys.vault,
        chains: this.settings.chains,
      },
      config: this.settings.config,
      mark: new StopMark(this.beside),
      push: (message) => this.#pushed(message),
      log: (event, message, context) =>
        this.logged.push(`${agentEvents[event].level} ${context?.code ?? ""} ${message}`),
      ...{
        soon: (act) => act(),
        later: (act) => act(),
        next: (act) => act(),
        ...this.#options.turns,
      },
      onPoisoned: (fault) => {
        this.poisoned = fault.code;
      },
    });
    this.#courier = createCourierRequestHandler(this.signer, {
      ...{ config: this.settings.config, giveWay: () => void this.gaveWay++ },
      ...{ residentBytes: () => 0, syncs: () => ({ counts: [], sumUs: 0 }) },
    });
    this.#operator = createOperatorRequestHandler(this.signer, {
      ...{
        isolation: "L0 one user",
        encKeyFrom: "config",
        config: this.settings.config,
        isCourierConnected: () => true,
      },
      stuckAfterMinutes: this.settings.stuckAfterMinutes,
      later: (act) => act(),
    });
  }

  /** The power goes, with `kept` bytes of the write under way on disk, and comes back. */
  crash(kept = 0): void {
    this.disk = this.disk.crash(kept);
    this.start();
  }

  /** Everything asked so far becomes durable. */
  settle(): void {
    for (let i = 0; this.disk.appending && i < 100; i++) this.disk.sync();
  }

  /**
   * Whether its gateway names the pin of each first attempt, and clears each withdrawal, that is
   * asked for.
   */
  namesPins = true;

  /** Asks over the courier's socket as the line server would; the answer may come later. */
  send(verb: string, body: object, answer: (answer: AnyAnswer) => void = () => {}): void {
    const order =
      (verb === "sign" || verb === "replace") && this.namesPins
        ? orderAsked(body, this.core)
        : null;
    const pin = verb === "sign" && this.namesPins ? pinAsked(body, this.core) : null;
    if (pin !== null || order !== null)
      this.sight({ coins: pin === null ? [] : [pin], orders: order === null ? [] : [order] });
    this.#sendOnce(verb, body, answer);
  }

  /** The gateway's word on coins and next slots, for this run; the signer's answer. */
  sight(shown: Partial<Sightings>): AnyAnswer {
    return this.#wait((answer) =>
      this.#sendOnce("sightings", { frames: [this.gateway.sightings(this.nonce, shown)] }, answer),
    );
  }

  #sendOnce(verb: string, body: object, answer: (answer: AnyAnswer) => void): void {
    const sent = verb === "sign" || verb === "replace" ? framedOffer(body as CourierOffer) : body;
    const { line, frames } = encodeMessage({ id: this.#nextId++, verb, ...sent });
    const request = withFrames(readRequest(Buffer.from(line.trimEnd())), frames);
    this.#courier(request, (given) => answer(this.#seen(given) as unknown as AnyAnswer));
  }

  /**
   * Before a replacement goes as much time by as the signer wants between two attempts; `askAtOnce`
   * lets none go by.
   */
  ask(verb: string, body: object = {}): AnyAnswer {
    if (verb === "replace") this.now += attemptsApartMs;
    return this.askAtOnce(verb, body);
  }

  /**
   * The courier's word, the gateway's and, above 0, the operator's that it needs; the answer as the
   * courier gets it, or the operator's no.
   */
  begin(nonce: string, quorum = 2): AnyAnswer {
    const account = {
      network: networkOf(this.settings.chains.local as never),
      account: this.keys.vault.accounts[0]!.id,
    };
    this.sight({ next: [{ ...account, slot: nonce, isUnused: nonce === "0" }] });
    const claim = { chain: "local", slot: nonce, quorum };
    const said = this.ask("adopt", claim);
    if (said.code !== "ACCOUNT_FIRST_SLOT") return said;
    const yes = this.operate("adopt", { chain: "local", slot: nonce });
    return yes.ok ? this.ask("adopt", claim) : yes;
  }

  askAtOnce(verb: string, body: object = {}): AnyAnswer {
    return this.#wait((answer) => this.send(verb, body, answer));
  }

  /** The decision is ann's, unless the body names somebody else. */
  operate(verb: string, body: object = {}): AnyAnswer {
    const named = ["approve", "refuse", "manualReplacement", "pause"].includes(verb)
      ? { approver: "ann" }
      : {};
    const request = parseJson(JSON.stringify({ id: this.#nextId++, verb, ...named, ...body }));
    return this.#wait((answer) =>
      this.#operator(request as never, (given) =>
        answer(this.#seen(given) as unknown as AnyAnswer),
      ),
    );
  }

  admit(frame: Uint8Array): AnyAnswer {
    return this.ask("admit", { frames: [frame] });
  }

  release(frame: Uint8Array): AnyAnswer {
    return this.ask("release", { frames: [frame] });
  }

  handshake(): AnyAnswer {
    return this.admit(this.gateway.welcome(this.nonce, { at: this.now }));
  }

  /** After the handshake, its accounts adopted: ready for jobs. */
  ready(): this {
    this.handshake();
    this.begin("5");
    return this;
  }

  /** One new job, admitted; the operator's view of it. */
  request(change: Partial<Job> = {}): OperatorView {
    this.gateway.job(change, this.now);
    const answer = this.admit(this.gateway.jobs([this.gateway.texts.at(-1)!], { at: this.now }));
    return operatorViewOf(
      this.core.book.find(answer.withdrawals[0]!.transactionId)!,
      this.core.policy,
    );
  }

  /**
   * The gateway takes every statement it lacks and acknowledges; gives the signer's answer to the
   * acknowledgement.
   */
  acknowledge(): AnyAnswer {
    this.receive();
    return this.release(this.gateway.ack(this.gateway.stored!, { at: this.now }));
  }

  /** The gateway stores what the signer reports, as its hub does, and says nothing yet. */
  receive(): void {
    const { frames } = this.ask("report", { after: this.gateway.stored?.seq ?? 0 });
    for (const frame of frames) this.#store(frame);
  }

  /** From request to released bytes. */
  pay(change: Partial<Job> = {}): OperatorView {
    const view = this.request(change);
    this.ask("sign", { transactionId: view.transactionId, txParams });
    return { ...view, ...this.acknowledge().withdrawals[0]! };
  }

  show(transactionId: string): OperatorView {
    return this.operate("show", { transactionId }).withdrawal;
  }

  /** The entries of each pushed statement, as kinds. */
  stated(): string[] {
    return this.pushes.flatMap((push) =>
      push.push === "statement"
        ? push.frames.map((frame) =>
            this.#open(frame)
              .entries.map((entry) => (entry.kind === "decision" ? entry.decision : entry.kind))
              .join(" "),
          )
        : [],
    );
  }

  /** Everything in the ledger, read from the disk; what was read before is not read again. */
  records(): readonly LedgerRecord[] {
    this.settle();
    const { ledger } = this.signer;
    const from = this.#records.length + 1;
    if (from <= ledger.durableHead.seq)
      this.#records.push(...ledger.read(from, ledger.durableHead.seq));
    return this.#records;
  }

  kinds(): string[] {
    return this.records().map((record) => record.kind);
  }

  #wait(ask: (answer: (answer: AnyAnswer) => void) => void): AnyAnswer {
    let got: AnyAnswer | undefined;
    ask((answer) => {
      got = answer;
    });
    this.settle();
    if (got === undefined)
      throw new Error(`no answer${this.poisoned === null ? "" : `: ${this.poisoned}`}`);
    return got;
  }

  #pushed(message: PushMessage): void {
    if (message.push === "statement") {
      const { durableHead } = this.signer.ledger;
      for (const frame of message.frames)
        if (this.#open(frame).head.seq > durableHead.seq)
          throw new Error("a statement of what is not on disk");
    }
    this.pushes.push(message);
    this.#seen(message);
  }

  #seen<T>(message: T): T {
    for (const [raw] of JSON.stringify(message).matchAll(/"raw":"0x[0-9a-f]+"/g))
      this.left.add(raw.slice(7, -1));
    return message;
  }

  /** Verified and read as the gateway does; a head that does not cover its entries is refused. */
  #open(frame: Uint8Array): Statement {
    const publicKey = createPublicKey(this.keys.vault.signerKey);
    return parseStatement(
      openEnvelope(frame, { kind: "statement", publicKey, bytesMax: 262_144 }).payload,
    );
  }

  #store(frame: Uint8Array): void {
    const statement = this.#open(frame);
    const stored = this.gateway.stored?.seq ?? 0;
    if (statement.after > stored)
      throw new Error(`a gap in the statements: after ${statement.after}, stored ${stored}`);
    this.statements.push(statement);
    if (statement.head.seq <= stored) return;
    const goesOn =
      statement.after === stored && statement.previous === (this.gateway.stored?.hash ?? zeroHash);
    if (!goesOn)
      throw new Error(
        `a statement after ${statement.after} does not go on from what is stored, ${stored}`,
      );
    this.gateway.stored = statement.head;
    for (const entry of statement.entries)
      if (entry.kind === "observed" && entry.stage === "final")
        this.gateway.ended.add(entry.transactionId);
  }
}
