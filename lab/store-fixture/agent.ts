/**
 * The agent of one of the fixture's merchants, as the gateway hears it: it pairs with real proofs,
 * and its ledger is what the story says. Each word waits until the gateway has acknowledged it.
 */
import { createHash } from "node:crypto";
import {
  deriveAccounts,
  pairedAccountsOf,
  proveAccounts,
  type WalletAccount,
} from "../../agent/keystore/nodes.ts";
import { familyOf } from "../../chains/families.ts";
import type { AddressSpaceName } from "../../chains/family.ts";
import { publicKeyHex } from "../../protocol/envelope.ts";
import { agentIdOf, walletFingerprintOf } from "../../protocol/identity.ts";
import type {
  DecisionEntry,
  Entry,
  PairedAccount,
  PairedCurrency,
  SignedEntry,
} from "../../protocol/messages.ts";
import {
  accountDigestOf,
  parseApiKey,
  type SealedTranscript,
  sealTranscript,
  signTranscript,
} from "../../protocol/pairing.ts";
import { type EntryBody, hashAt, headAt, LinkAgent, statementOf } from "../kit/link-agent.ts";
import { fixedKey, fixedRandom, fixedSeed } from "./setting.ts";
import type { World } from "./world.ts";

export class FixtureAgent {
  readonly name: string;
  readonly merchant: string;
  readonly accounts: readonly PairedAccount[];
  readonly id: string;
  ledgerEpoch = 1;
  readonly #world: World;
  readonly #apiKey: string;
  readonly #nodes: readonly WalletAccount[];
  readonly #random: (bytes: number) => Uint8Array;
  #link: LinkAgent | null = null;
  #seq = 0;

  constructor(
    world: World,
    name: string,
    {
      merchant,
      apiKey,
      families,
    }: { merchant: string; apiKey: string; families: readonly AddressSpaceName[] },
  ) {
    this.name = name;
    this.merchant = merchant;
    this.#world = world;
    this.#apiKey = apiKey;
    this.#nodes = deriveAccounts(fixedSeed(name), families);
    this.accounts = pairedAccountsOf(this.#nodes);
    this.#random = fixedRandom(`agent ${name}`);
    this.id = agentIdOf({
      merchant,
      wallet: walletFingerprintOf(this.accounts),
      signerKey: publicKeyHex(this.#signer),
      linkKey: publicKeyHex(this.#linkKey),
    });
  }

  get #signer() {
    return fixedKey(`signer ${this.name}`);
  }

  get #linkKey() {
    return fixedKey(`link ${this.name}`);
  }

  hot(network: string): string {
    const family = familyOf(network).addressSpace.name;
    return this.accounts.find((one) => one.family === family && one.purpose === "hot")?.id ?? "";
  }

  depositsId(network: string): string {
    const family = familyOf(network).addressSpace.name;
    return (
      this.accounts.find((one) => one.family === family && one.purpose === "deposits")?.id ?? ""
    );
  }

  /** A transcript with the proofs of every key in it, of these currencies. */
  sealed(currencies: readonly PairedCurrency[]): SealedTranscript {
    const { keyId, secret } = parseApiKey(this.#apiKey);
    const transcript = JSON.stringify({
      version: 1,
      keyId,
      gatewayFingerprint: this.#world.service.key.fingerprint,
      signerKey: publicKeyHex(this.#signer),
      linkKey: publicKeyHex(this.#linkKey),
      wallet: walletFingerprintOf(this.accounts),
      networks: [...new Set(currencies.map(({ network }) => network))].sort(),
      accounts: this.accounts,
      currencies: [...currencies].sort((a, b) => (a.id < b.id ? -1 : 1)),
      nonce: Buffer.from(this.#random(32)).toString("hex"),
      at: this.#world.nowMs,
    });
    const proofs = proveAccounts(this.#nodes, accountDigestOf(transcript));
    const proven = { signerSignature: signTranscript(transcript, this.#signer), proofs };
    return sealTranscript(transcript, { secret, linkKey: this.#linkKey, proven });
  }

  async connect(): Promise<void> {
    const keys = {
      id: this.id,
      signerKey: this.#signer,
      linkKey: this.#linkKey,
      hotWalletAddress: this.accounts[0]?.id ?? "",
    };
    this.#link = new LinkAgent(this.#world.port, keys, this.#world.gatewayPublicKey);
    await this.#link.hello({
      ledgerEpoch: this.ledgerEpoch,
      software: "autowithdraw 0.1.0",
      at: this.#world.nowMs,
    });
    await this.#link.next("welcome");
  }

  disconnect(): Promise<unknown> {
    this.#link?.socket.close();
    return this.#link?.closed ?? Promise.resolve();
  }

  /** States these entries in the ledger's order; resolves when the gateway has stored them. */
  async say(...bodies: readonly EntryBody[]): Promise<void> {
    const link = this.#link;
    if (link === null) throw new Error(`${this.name} has no link`);
    const at = this.#world.nowMs;
    const after = this.#seq;
    const branch = this.name;
    const entries = bodies.map((body, index) => ({ ...body, seq: after + index + 1, at }) as Entry);
    const { ledgerEpoch } = this;
    const previous = after === 0 ? {} : { previous: hashAt(after, branch) };
    const head = headAt(after + bodies.length, branch);
    const policy = createHash("sha256").update(`limits of ${branch}`).digest("hex");
    link.state(
      statementOf(this.id, after, [], {
        ...{ ledgerEpoch, handshake: link.nonce, ...previous, head, at, entries },
        ...(after === 0 ? { policy } : {}),
      }),
    );
    this.#seq = head.seq;
    while ((await link.next("ack")).head.seq < head.seq);
  }

  decide(
    transactionId: string,
    decision: DecisionEntry["decision"],
    code = "",
    address = "",
  ): Promise<void> {
    return this.say({ kind: "decision", transactionId, decision, code, address });
  }

  sign(
    signed: Omit<SignedEntry, "kind" | "seq" | "at" | "feeMax"> & { readonly feeMax?: string },
  ): Promise<void> {
    return this.say({ kind: "signed", feeMax: "2100000", ...signed });
  }

  broadcast(transactionId: string, txHash: string): Promise<void> {
    return this.say({ kind: "observed", transactionId, stage: "broadcast", outcome: "", txHash });
  }
}
