/**
 * A signer in memory whose wallet pays where attempts end by expiry: offers as the chain's market
 * would make them, and the two words that an attempt is void.
 */
import type { SignerSettings } from "../../agent/config/settings.ts";
import { expiryExclusionOf, families } from "../../chains/families.ts";
import type { TxParams } from "../../chains/family.ts";
import { firstOffer } from "../../chains/tron/fees.ts";
import { begun, Kit, type KitOptions, keysOf, settings } from "../../lab/kit/signer-kit.ts";
import { plain, token } from "../../lab/kit/tron-values.ts";
import type { Job } from "../../protocol/messages.ts";

export const network = "tron:0xcd8690dc";
export const receiver = plain.destination;
export const keys = keysOf("tron", [network]);
export const sender = keys.vault.accounts[0]!.id;

const limits = {
  maxPerWithdrawal: "1000",
  maxPerDay: "1000000",
  maxFee: "45",
  maxFeePerDay: "2000",
};

export const waitingSettings: SignerSettings = {
  ...settings,
  chains: { tron: { family: "tron", chainId: "0xcd8690dc", nodesFrom: "own" } },
  currencies: {
    trx: { chain: "tron", decimal: 6 },
    usdt: { chain: "tron", decimal: 6, contract: token.contract },
  },
  policy: { trx: limits, usdt: { ...limits, manualReplaceAbove: "100" } },
};

/**
 * As the market offers for a token's transfer, or one with this compute limit, by a block of that
 * time.
 */
export function offerAt(blockMs: number, block = 7, computeLimit = 64_285n): TxParams {
  const reference = {
    refBlockBytes: BigInt(block),
    refBlockHash: 0xb21ace8d6ac20e7en,
    blockMs: BigInt(blockMs),
  };
  const prices = { energySun: 100n, byteSun: 1_000n, activationSun: 1_100_000n };
  return firstOffer({ feeMarket: { ...reference, ...prices }, computeLimit });
}

export class WaitingKit extends Kit {
  constructor(options: KitOptions = {}) {
    super({ settings: waitingSettings, keys, ...options });
  }

  /** Released, by an offer of now. */
  payout(change: Partial<Job> = {}): string {
    const { transactionId } = this.request({ network, address: receiver, ...change });
    const signed = this.ask("sign", { transactionId, txParams: offerAt(this.now) });
    if (!signed.ok) throw new Error(`${signed.code} ${signed.detail}`);
    this.acknowledge();
    return transactionId;
  }

  hashOf(transactionId: string, attempt = 1): string {
    return this.show(transactionId).attempts[attempt - 1]!.txHash;
  }

  /** The time goes on until the attempt is past its end and the margin, if it is not yet. */
  outlive(transactionId: string, attempt = 1): void {
    const until = this.show(transactionId).attempts[attempt - 1]!.validUntilMs!;
    this.now = Math.max(this.now, until + expiryExclusionOf(network)!.marginMs + 1);
  }

  /**
   * The gateway's own nodes call an attempt past its end void, and the next acknowledgement says
   * so.
   */
  gatewaySays(transactionId: string, attempt = 1): ReturnType<Kit["release"]> {
    this.outlive(transactionId, attempt);
    this.gateway.voided.add(this.hashOf(transactionId, attempt));
    return this.acknowledge();
  }

  courierSays(transactionId: string, attempt = 1, quorum = 2): ReturnType<Kit["ask"]> {
    this.outlive(transactionId, attempt);
    const txHash = this.hashOf(transactionId, attempt);
    return this.ask("observed", {
      transactionId,
      stage: "void",
      outcome: "",
      txHash,
      block: 900,
      quorum,
    });
  }

  callVoid(transactionId: string, attempt = 1): void {
    this.gatewaySays(transactionId, attempt);
    const said = this.courierSays(transactionId, attempt);
    if (!said.ok) throw new Error(`${said.code} ${said.detail}`);
  }

  /** The next attempt, by an offer of now. */
  next(transactionId: string, above = 1): ReturnType<Kit["ask"]> {
    return this.askAtOnce("replace", { transactionId, above, txParams: offerAt(this.now, 300) });
  }

  plan(act: "replace" | "cancel", transactionId: string) {
    return this.operate("manualReplacement", {
      transactionId,
      act,
      txParams: wishes,
      plan: null,
    }) as ReturnType<Kit["operate"]> & {
      readonly plan: {
        readonly act: string;
        readonly attempt: number;
        readonly txParams: TxParams;
      };
    };
  }

  /** An operator is shown a plan, and orders it. */
  order(act: "replace" | "cancel", transactionId: string): ReturnType<Kit["operate"]> {
    const shown = this.plan(act, transactionId);
    if (!shown.ok) return shown;
    return this.operate("manualReplacement", {
      transactionId,
      act,
      txParams: wishes,
      plan: shown.plan,
    });
  }
}

const typed = families.tron.fees.typed({});
const wishes = typed.ok ? typed.txParams : {};

/** After the handshake, ten minutes into its day. */
export function waitingKit(options: KitOptions = {}): WaitingKit {
  const kit = new WaitingKit(options);
  kit.now = begun + 600_000;
  kit.handshake();
  return kit;
}
