/**
 * A signer in memory whose wallet pays where versions end by waiting: offers as the chain's market
 * would make them, and the two words that a version is dead.
 */
import type { SignerSettings } from "../../agent/config/settings.ts";
import { families, waitingOf } from "../../chains/families.ts";
import type { Facts } from "../../chains/family.ts";
import { begun, keysOf, Rig, type RigOptions, settings } from "../../lab/rig/signer-rig.ts";
import { plain, token } from "../../lab/rig/tron-values.ts";
import type { Job } from "../../protocol/messages.ts";

export const network = "tron:0xcd8690dc";
export const receiver = plain.destination;
export const keys = keysOf("tron", [network]);
export const payer = keys.vault.accounts[0]!.id;

const limits = { maxPerWithdrawal: "1000", maxPerDay: "1000000", maxFee: "45", maxFeePerDay: "2000" };

export const waitingSettings: SignerSettings = {
  ...settings,
  chains: { tron: { family: "tron", chainId: "0xcd8690dc", nodesFrom: "own" } },
  currencies: { trx: { chain: "tron", decimal: 6 }, usdt: { chain: "tron", decimal: 6, contract: token.contract } },
  policy: { trx: limits, usdt: { ...limits, resignAbove: "100" } },
};

/** As the market offers for a token's transfer, or one of so much work, by a block of that time. */
export function offerAt(blockMs: number, block = 7, work = 64_285n): Facts {
  const reference = { refBlockBytes: BigInt(block), refBlockHash: 0xb21ace8d6ac20e7en, blockMs: BigInt(blockMs) };
  return families.tron.fees.first({ ...reference, energySun: 100n, byteSun: 1_000n, activationSun: 1_100_000n }, work);
}

export class WaitingRig extends Rig {
  constructor(options: RigOptions = {}) {
    super({ settings: waitingSettings, keys, ...options });
  }

  /** Released, by an offer of now. */
  payout(change: Partial<Job> = {}): string {
    const { transactionId } = this.request({ network, address: receiver, ...change });
    const signed = this.ask("sign", { transactionId, facts: offerAt(this.now) });
    if (!signed.ok) throw new Error(`${signed.code} ${signed.detail}`);
    this.acknowledge();
    return transactionId;
  }

  hashOf(transactionId: string, version = 1): string {
    return this.show(transactionId).versions[version - 1]!.txHash;
  }

  /** The time goes on until the version is past its end and the margin, if it is not yet. */
  outlive(transactionId: string, version = 1): void {
    const until = this.show(transactionId).versions[version - 1]!.until!;
    this.now = Math.max(this.now, until + waitingOf(network)!.marginMs + 1);
  }

  /**
   * The gateway's own nodes call a version past its end dead, and the next acknowledgement says so.
   */
  gatewaySays(transactionId: string, version = 1): ReturnType<Rig["release"]> {
    this.outlive(transactionId, version);
    this.gateway.dead.add(this.hashOf(transactionId, version));
    return this.acknowledge();
  }

  courierSays(transactionId: string, version = 1, witnesses = 2): ReturnType<Rig["ask"]> {
    this.outlive(transactionId, version);
    const txHash = this.hashOf(transactionId, version);
    return this.ask("observed", { transactionId, stage: "dead", outcome: "", txHash, block: 900, witnesses });
  }

  callDead(transactionId: string, version = 1): void {
    this.gatewaySays(transactionId, version);
    const said = this.courierSays(transactionId, version);
    if (!said.ok) throw new Error(`${said.code} ${said.detail}`);
  }

  /** The next version, by an offer of now. */
  next(transactionId: string, above = 1): ReturnType<Rig["ask"]> {
    return this.askAtOnce("replace", { transactionId, above, facts: offerAt(this.now, 300) });
  }

  plan(act: "replace" | "cancel", transactionId: string) {
    return this.operate("unstick", { transactionId, act, facts: wishes, plan: null }) as ReturnType<Rig["operate"]> & {
      readonly plan: { readonly act: string; readonly version: number; readonly facts: Facts };
    };
  }

  /** A person is shown a plan, and orders it. */
  order(act: "replace" | "cancel", transactionId: string): ReturnType<Rig["operate"]> {
    const shown = this.plan(act, transactionId);
    if (!shown.ok) return shown;
    return this.operate("unstick", { transactionId, act, facts: wishes, plan: shown.plan });
  }
}

const typed = families.tron.fees.typed({});
const wishes = typed.ok ? typed.facts : {};

/** Greeted, ten minutes into its day. */
export function waitingRig(options: RigOptions = {}): WaitingRig {
  const rig = new WaitingRig(options);
  rig.now = begun + 600_000;
  rig.greet();
  return rig;
}
