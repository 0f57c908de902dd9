/** The stand-in for rippled behind two fronts. A receiver's account begins with its payment. */
import type { Call } from "../../kit/holding-proxy.ts";
import type { Kit } from "../../kit/kit.ts";
import { codecs } from "../../xrp-node/codecs.ts";
import { awaitXrp, servedByXrp } from "../../xrp-node/in-demo.ts";
import { person } from "../../xrp-node/people.ts";
import { startXrpNode, type XrpNode } from "../../xrp-node/xrp-node.ts";
import type { ChainJudgement, Payment, StepsChain } from "./chain.ts";

const chainId = 2;
const id = "xrp";
const hotWalletDrops = 10_000_000_000n;

export class XrpStepsChain implements StepsChain {
  readonly id = id;
  readonly chainName = "ripple";
  readonly decimal = 6;
  readonly unit = 1_000_000n;
  readonly fees = { maxFee: "1", maxFeePerDay: "1000" };
  readonly asksAtItsBeginning = false;
  readonly #node: XrpNode;

  private constructor(node: XrpNode) {
    this.#node = node;
  }

  static async open(closeMs: number): Promise<XrpStepsChain> {
    const fronts = [{}, { isClio: true }];
    return new XrpStepsChain(
      await startXrpNode({ fronts, isPaced: true, closeMs, rules: { networkId: chainId } }),
    );
  }

  close(): Promise<void> {
    return this.#node.close();
  }

  get urls(): readonly string[] {
    return this.#node.urls;
  }

  served() {
    return servedByXrp(this.#node, { chains: {}, currencies: {} });
  }

  async fund(kit: Kit, hotWalletAddress: string): Promise<void> {
    this.#node.fund(hotWalletAddress, hotWalletDrops);
    await awaitXrp(this.#node, kit);
  }

  receiver(name: string): string {
    return person(name).address;
  }

  isBroadcast({ body }: Call, receiver: string): boolean {
    const { method, params } = questionIn(body);
    const account = Buffer.from(codecs().addresses.decodeAccountID(receiver)).toString("hex");
    return method === "submit" && String(params?.[0]?.tx_blob).toLowerCase().includes(account);
  }

  isFirstQuery({ body }: Call, receiver: string): boolean {
    const { method, params } = questionIn(body);
    return method === "account_info" && params?.[0]?.account === receiver;
  }

  goesOn(isOn: boolean): void {
    this.#node.pace(isOn);
  }

  disagrees(isOn: boolean): void {
    this.#node.fronts[1]?.suffer(isOn ? { lagLedgers: 3 } : {});
  }

  async reorganises(): Promise<boolean> {
    return false;
  }

  async judge(hotWalletAddress: string, receivers: readonly string[]): Promise<ChainJudgement> {
    const { chain } = this.#node;
    const transactions = new Map<string, readonly Payment[]>();
    const violations: string[] = [];
    const sequences: number[] = [];
    for (const { tx, result, delivered } of chain.touching(hotWalletAddress)) {
      if (tx.account !== hotWalletAddress) continue;
      sequences.push(tx.sequence);
      const isPaid = result === "tesSUCCESS" && tx.type === "Payment";
      const payment = {
        txHash: tx.hash,
        receiver: String(tx.fields.Destination),
        units: BigInt(String(delivered ?? 0)),
      };
      transactions.set(tx.hash, isPaid ? [payment] : []);
    }
    const [first = 0] = sequences;
    if (sequences.some((sequence, at) => sequence !== first + at))
      violations.push("the ledger's sequences have a gap");
    const held = new Map(receivers.map((receiver) => [receiver, this.#node.balance(receiver)]));
    return { transactions, held, violations };
  }
}

interface Question {
  readonly method?: string;
  readonly params?: readonly Readonly<Record<string, unknown>>[];
}

function questionIn(body: string): Question {
  return body === "" ? {} : (JSON.parse(body) as Question);
}
