/**
 * The fake for rippled with two customers: `payer` with 100 XRP and `holder` with 20. Transactions
 * are encoded and signed by Ripple's packages alone.
 */
import type { Json } from "../../lab/xrp-node/codecs.ts";
import { type Person, person } from "../../lab/xrp-node/people.ts";
import {
  startXrpNode,
  type XrpNode,
  type XrpNodeOptions,
  xrpNodeMissing,
} from "../../lab/xrp-node/xrp-node.ts";

/** Fields of a payment in XRP; `more` adds fields or takes their place. */
export function payment(to: string, drops: bigint, more: Json = {}): Json {
  return {
    TransactionType: "Payment",
    Destination: to,
    Amount: String(drops),
    Flags: 0x8000_0000,
    ...more,
  };
}

/** False, with the reason on standard error, where Ripple's packages do not load. */
export function hasXrpNode(): boolean {
  if (xrpNodeMissing !== null) process.stderr.write(`${xrpNodeMissing}\n`);
  return xrpNodeMissing === null;
}

export class XrpTestNetwork {
  readonly node: XrpNode;
  readonly payer: Person = person("payer");
  readonly holder: Person = person("holder");
  readonly outsider: Person = person("outsider"); // has no account

  constructor(node: XrpNode) {
    this.node = node;
    node.fund(this.payer.address, 100_000_000n);
    node.fund(this.holder.address, 20_000_000n);
  }

  /** rippled's own answer, the result alone. */
  async ask(method: string, asked: Json = {}, front = 0): Promise<Json> {
    const body = JSON.stringify({ method, params: [asked] });
    const answer = await fetch(this.node.urls[front]!, { method: "POST", body });
    return ((await answer.json()) as { readonly result: Json }).result;
  }

  submit(from: Person, fields: Json, front = 0): Promise<Json> {
    return this.ask("submit", { tx_blob: this.node.people.sign(from, fields) }, front);
  }

  async resultOf(from: Person, fields: Json): Promise<string> {
    return String((await this.submit(from, fields)).engine_result);
  }

  sequenceOf({ address }: Person): number {
    return this.node.chain.open.state.account(address)!.sequence;
  }
}

export async function startXrpNetwork(options: XrpNodeOptions = {}): Promise<XrpTestNetwork> {
  return new XrpTestNetwork(await startXrpNode({ startAtMs: 1_790_000_000_000, ...options }));
}
