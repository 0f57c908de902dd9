/**
 * Another server in the old one's place, as docs/recovering.md section 5 has it: `agents unpair`
 * with its guard, again and again until the old server has caught up, or with `--skip-catch-up`
 * once that server is gone for good; then pairing, by the gateway's own code. Both servers have one
 * mnemonic, and so one account.
 */

import { proveAccounts } from "../../../agent/keystore/nodes.ts";
import { createKey } from "../../../gateway/auth/keys.ts";
import { unpairAgent } from "../../../gateway/operator/accounts.ts";
import { privateKeyFromSeed, publicKeyHex } from "../../../protocol/envelope.ts";
import { openGrant, parseSealedGrant } from "../../../protocol/grant.ts";
import {
  accountDigestOf,
  parseApiKey,
  sealTranscript,
  signTranscript,
} from "../../../protocol/pairing.ts";
import { must } from "../invariants/violation.ts";
import { kernel, note } from "../kernel/kernel.ts";
import type { Machine } from "./agent.ts";
import { canCompare, showsAll } from "./plan.ts";
import type { Scene } from "./scene.ts";
import {
  accounts,
  merchant,
  network,
  ownAccounts,
  pairedCurrencies,
  vaultOf,
  wallet,
} from "./setting.ts";

const keySeed = 2;
const linkSeed = new Uint8Array(32).fill(keySeed + 100);

/** The request that `pair.js` keeps between two attempts until it is answered. */
interface PairRequest {
  readonly transcript: string;
  readonly body: Uint8Array;
}

export class Takeover {
  readonly #world: Scene;
  #old: Machine | null = null;
  #apiKey = "";
  #asking: PairRequest | null = null;
  #next: Machine | null = null;
  /** The old server was given up: nobody knows whether the database holds all that it paid. */
  isCatchUpSkipped = false;
  isReleased = false;
  /**
   * Somebody made sure that the old server runs no more; one that is only down, or damaged, may
   * still catch up.
   */
  #isGivenUp = false;

  constructor(world: Scene) {
    this.#world = world;
  }

  /** The server that is to take over, once it is paired. */
  get next(): Machine | null {
    return this.#next;
  }

  get hasBegun(): boolean {
    return this.#old !== null;
  }

  get isUnderWay(): boolean {
    return this.#old !== null && this.#next === null;
  }

  /** Somebody wants another server from now on. Twice is harmless. */
  begin(): void {
    if (this.#old !== null) return;
    this.#old = this.#world.machines[0] ?? null;
    note("another server is wanted");
    this.#release();
  }

  #later(act: () => void): void {
    const { scheduler, random } = kernel;
    scheduler.after(random.between("another server later", 500, 5_000), scheduler.world, act);
  }

  /**
   * Without `--skip-catch-up` as long as the old server can run; when it is refused, perhaps that
   * one is switched off for good. With `--open`: nobody waits for what it has to end.
   */
  #release(): void {
    const { gateway } = this.#world;
    const old = this.#old as Machine;
    const isGone = this.#isGivenUp;
    gateway.command(
      (by) => unpairAgent(by, old.id, isGone ? "notCaughtUp" : "open"),
      (said) => {
        note("agents unpair", said === null ? "no answer" : said.ok ? "ok" : said.code);
        // One that is released already was released by the attempt that nobody saw the end of.
        if (said?.ok === true || said?.code === "GATEWAY_UNKNOWN_AGENT") {
          this.isCatchUpSkipped = isGone;
          this.isReleased = true;
          gateway.keepReleased();
          if (!isGone) this.#world.holds(() => this.#lacksNothing(old));
          this.#later(() => this.#pair());
          return;
        }
        const isRefused = said?.code === "GATEWAY_AGENT_NOT_CAUGHT_UP";
        if (isRefused && this.#mayBeGone && kernel.random.below("the old server is gone", 3) === 0)
          this.#ends(old);
        this.#later(() => this.#release());
      },
    );
  }

  /**
   * A database that was restored needs the old server's word, or people who can see on the chain
   * what it forgot.
   */
  get #mayBeGone(): boolean {
    const { faultInjector, payments, plan, chainFixture } = this.#world;
    // Without counts, only nodes that show all that left tell people what was forgotten.
    const isKnown =
      chainFixture.evm === null
        ? payments.isShown && showsAll(plan)
        : payments.isShown || !showsAll(plan);
    return !faultInjector.backups.wasGatewayRestored || (canCompare(plan) && isKnown);
  }

  #ends(old: Machine): void {
    const { faultInjector, gateway, payments, actors, recoveryScenario } = this.#world;
    this.#isGivenUp = true;
    old.endForGood();
    if (!faultInjector.backups.wasGatewayRestored) return;
    payments.forget(gateway.txHashes());
    const missed = actors.orderAllAgain();
    recoveryScenario?.comparison.reckonsWith(missed);
  }

  #lacksNothing(old: Machine): void {
    const missing = this.#world.observer.missingOf(old.id);
    must(
      missing === undefined,
      "who is released by the guard has told all that left it",
      () => `${old.id}: ${missing}`,
    );
  }

  /**
   * `pair.js` on the new server: a key of the gateway's operator first, then the request until it
   * is answered.
   */
  #pair(): void {
    const { gateway } = this.#world;
    if (this.#apiKey === "") {
      const key = {
        merchant,
        scopes: ["agent:pair"],
        profile: "compatible",
        alg: "HS256",
      } as const;
      gateway.command(
        (by) => by.store.write((database) => createKey(database, key, by)),
        (made) => {
          this.#apiKey = made?.apiKey ?? "";
          this.#later(() => this.#pair());
        },
      );
      return;
    }
    this.#asking ??= this.#request();
    const { transcript, body } = this.#asking;
    gateway.pair(body, (answer) => {
      note("pairs", answer.kind === "code" ? answer.code : "ok");
      if (answer.kind !== "data") {
        // A database that was restored does not know the key, or is told of another time.
        if (answer.kind === "code" && answer.code === "pairing_key_invalid") this.#apiKey = "";
        this.#asking = null;
        return;
      }
      const { fingerprint } = parseApiKey(this.#apiKey);
      const { grant } = openGrant(parseSealedGrant(answer.body), { fingerprint, transcript });
      this.#begin(grant.agent, grant.ledgerEpoch);
    });
    this.#later(() => {
      if (this.#next === null) this.#pair();
    });
  }

  #request(): PairRequest {
    const { keyId, fingerprint, secret } = parseApiKey(this.#apiKey);
    const linkKey = privateKeyFromSeed(linkSeed);
    const signer = vaultOf(keySeed).signerKey;
    const transcript = JSON.stringify({
      ...{ version: 1, keyId, gatewayFingerprint: fingerprint },
      ...{ signerKey: publicKeyHex(signer), linkKey: publicKeyHex(linkKey), wallet },
      ...{ networks: [network], accounts },
      ...{
        currencies: pairedCurrencies,
        nonce: kernel.random.bytes("pairing nonce", 32).toString("hex"),
      },
      at: this.#world.gateway.clock(),
    });
    const proofs = proveAccounts(ownAccounts, accountDigestOf(transcript));
    const proven = { signerSignature: signTranscript(transcript, signer), proofs };
    return {
      transcript,
      body: Buffer.from(JSON.stringify(sealTranscript(transcript, { secret, linkKey, proven }))),
    };
  }

  #begin(id: string, ledgerEpoch: number): void {
    if (this.#next !== null) return;
    note("another server is paired", ledgerEpoch);
    const { gateway } = this.#world;
    const [row] = gateway.all<{ lockedCode: string }>(
      "SELECT lockedCode FROM agents WHERE id = ?",
      id,
    );
    const isMarked = !this.isCatchUpSkipped || row?.lockedCode === "RECOVERY_OFFERED";
    this.#world.holds(() =>
      must(
        isMarked,
        "who follows a server that has not caught up begins with a recovery",
        () => id,
      ),
    );
    this.#next = this.#world.addMachine("c", id, keySeed);
    this.#next.pair(ledgerEpoch);
    this.#next.startSigner();
    this.#next.startCourier();
  }
}
