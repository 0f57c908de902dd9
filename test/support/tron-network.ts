/**
 * The fake for java-tron with a few inhabitants: senders with coins, a USDT, its look-alike and
 * a token that takes a fee. Payments are made and signed by tronweb alone.
 */
import { TronWeb } from "tronweb";
import {
  type Inhabitant,
  inhabitant,
  type SignedTronTransaction,
  signedBy,
} from "../../lab/kit/tron-sender.ts";
import { encodeTransfer } from "../../lab/tron-node/contracts.ts";
import {
  startTronNode,
  type TronNode,
  type TronNodeOptions,
} from "../../lab/tron-node/tron-node.ts";

export { type Inhabitant, inhabitant, type SignedTronTransaction, signedBy };

export const usdt = inhabitant("contract of usdt").address;
export const lookAlike = inhabitant("contract of a look-alike").address;
export const feeToken = inhabitant("contract of a token that takes a fee").address;
export const paused = inhabitant("contract of a token that is paused").address;
export const liar = inhabitant("contract of a token that lies").address;
export const disperser = inhabitant("contract that pays many").address;
export const trc10 = "1000001";

export interface Sending {
  readonly expirationMs?: number;
  readonly timestampMs?: number;
  readonly feeLimitSun?: number;
  readonly callSun?: number;
  readonly reference?: { readonly refBytes: string; readonly refHash: string };
}

export class TestNetwork {
  readonly node: TronNode;
  #count = 0;

  constructor(node: TronNode) {
    this.node = node;
  }

  get tronweb(): TronWeb {
    return new TronWeb({ fullHost: this.node.urls[0]! });
  }

  /**
   * Signed by tronweb, with a timestamp that no other of this test network has. Refers to a
   * solidified block, which no reorganisation takes away.
   */
  sign(
    from: Inhabitant,
    type: string,
    value: Record<string, unknown>,
    sending: Sending = {},
  ): SignedTronTransaction {
    const { head, nowMs, blocks, solid } = this.node.chain;
    const { id } = blocks[solid]!;
    this.#count += 1;
    const reference = sending.reference ?? {
      refBytes: id.slice(12, 16),
      refHash: id.slice(16, 32),
    };
    return signedBy(from, type, value, {
      reference,
      expirationMs: sending.expirationMs ?? head.timestampMs + 60_000,
      timestampMs: sending.timestampMs ?? nowMs + this.#count,
      ...(sending.feeLimitSun === undefined ? {} : { feeLimitSun: sending.feeLimitSun }),
    });
  }

  coins(from: Inhabitant, to: string, sun: number, sending: Sending = {}): SignedTronTransaction {
    return this.sign(
      from,
      "TransferContract",
      { to_address: TronWeb.address.toHex(to), amount: sun },
      sending,
    );
  }

  token(
    from: Inhabitant,
    contract: string,
    to: string,
    units: bigint,
    sending: Sending = {},
  ): SignedTronTransaction {
    return this.call(from, contract, encodeTransfer(TronWeb.address.toHex(to), units), sending);
  }

  call(
    from: Inhabitant,
    contract: string,
    data: string,
    sending: Sending = {},
  ): SignedTronTransaction {
    const value = { contract_address: TronWeb.address.toHex(contract), data };
    const coins = sending.callSun === undefined ? {} : { call_value: sending.callSun };
    return this.sign(from, "TriggerSmartContract", { ...value, ...coins }, sending);
  }

  /** A TRC-10 payment. */
  asset(from: Inhabitant, to: string, units: number): SignedTronTransaction {
    const value = {
      to_address: TronWeb.address.toHex(to),
      amount: units,
      asset_name: Buffer.from(trc10).toString("hex"),
    };
    return this.sign(from, "TransferAssetContract", value);
  }

  /** Java-tron's own answer. */
  async send(
    signed: SignedTronTransaction,
    front = 0,
  ): Promise<{ result?: boolean; code?: string; message?: string; txid?: string }> {
    return (await this.ask("wallet/broadcasttransaction", signed, front)) as never;
  }

  async ask(path: string, asked: unknown = {}, front = 0): Promise<Record<string, unknown>> {
    const answer = await fetch(`${this.node.urls[front]}/${path}`, {
      method: "POST",
      body: JSON.stringify(asked),
    });
    return (await answer.json()) as Record<string, unknown>;
  }
}

/** Rich: `sender` has 100,000 TRX and a million of each token. */
export const sender = inhabitant("sender");

export async function startTestNetwork(options: TronNodeOptions = {}): Promise<TestNetwork> {
  const node = await startTronNode({ startAtMs: 1_790_000_000_000, ...options });
  const usual = { name: "Tether USD", symbol: "USDT", decimals: 6 };
  node.deploy({ address: usdt, kind: "usdt", ...usual });
  node.deploy({ address: lookAlike, kind: "plain", ...usual });
  node.deploy({ address: feeToken, kind: "fee", name: "Fee", symbol: "FEE", decimals: 6 });
  node.deploy({ address: paused, kind: "paused", name: "Paused", symbol: "PSD", decimals: 6 });
  node.deploy({ address: liar, kind: "liar", ...usual });
  node.deploy({ address: disperser, kind: "disperse", name: "Disperse", symbol: "", decimals: 0 });
  node.fund(sender.address, 100_000_000_000n);
  for (const contract of [usdt, lookAlike, feeToken, paused])
    node.mint(contract, sender.address, 1_000_000_000_000n);
  node.issue(trc10, "Tether USD", sender.address, 1_000_000_000n);
  node.chain.mine(25);
  return new TestNetwork(node);
}
