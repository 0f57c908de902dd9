/**
 * The interface of the stream `steps` to a family's chain: it serves agent and gateway, makes
 * blocks or rests, and tells at the end who was paid. It reads the chain by itself, with no code of
 * agent or gateway.
 */
import type { Call } from "../../kit/holding-proxy.ts";
import type { Kit, ServedChains } from "../../kit/kit.ts";

/** One payment of the hot wallet's in the chain. */
export interface Payment {
  readonly txHash: string;
  readonly receiver: string;
  readonly units: bigint;
}

export interface ChainJudgement {
  /** Transactions of the hot wallet, with their payments to others. */
  readonly transactions: ReadonlyMap<string, readonly Payment[]>;
  /** The balance of each receiver, as the chain's own state has it. */
  readonly held: ReadonlyMap<string, bigint>;
  /** Other things that may not be. */
  readonly violations: readonly string[];
}

export interface StepsChain {
  readonly id: string; // the currency's
  readonly chainName: string; // in the configuration
  readonly decimal: number;
  /** An order pays a few of them; far more than a fee. */
  readonly unit: bigint;
  readonly fees: { readonly maxFee: string; readonly maxFeePerDay: string };
  served(): ServedChains;
  /** The nodes' own addresses. */
  readonly urls: readonly string[];
  /** Hands money to the hot wallet. */
  fund(kit: Kit, hotWalletAddress: string): Promise<void>;
  receiver(name: string): string;
  /** Whether a call hands a payment to this receiver to a node. */
  isBroadcast(call: Call, receiver: string): boolean;
  /** Whether a call is the courier's first for a payment to this receiver. */
  isFirstQuery(call: Call, receiver: string): boolean;
  /**
   * The courier has its answers from the newest block, before an order comes: only one that has
   * just begun asks for them.
   */
  readonly asksAtItsBeginning: boolean;
  /** Makes blocks, or none. */
  goesOn(isOn: boolean): void;
  /** One of two nodes is behind: a payment that one shows in a block is not final for both. */
  disagrees(isOn: boolean): void;
  /** Another block in the place of the newest one; false where no block is ever replaced. */
  reorganises(): Promise<boolean>;
  judge(hotWalletAddress: string, receivers: readonly string[]): Promise<ChainJudgement>;
  close(): Promise<void>;
}
