/**
 * Customers on the stand-in for rippled: every deposit is the hot wallet's address with a tag of
 * its own. They pay with the right tag, another one or none, in part, and in a token. No closed
 * ledger is replaced: nodes lag, lack ledgers, fail and lie idle, and a ledger may close without
 * what was handed to it. All is encoded by Ripple's packages; what arrived is read from the closed
 * ledgers themselves.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { HDNodeWallet } from "ethers";
import type { Random } from "../faults/tally.ts";
import { until } from "../kit/processes.ts";
import { codecs } from "../xrp-node/codecs.ts";
import type { Trouble } from "../xrp-node/front.ts";
import { servedByXrp } from "../xrp-node/in-demo.ts";
import { type Person, person } from "../xrp-node/people.ts";
import { startXrpNode, type XrpNode } from "../xrp-node/xrp-node.ts";
import { apply, type XrpProfile } from "./server-profiles.ts";
import { type Nobody, tagShapes } from "./shapes.ts";
import {
  decimalText,
  type FinalChain,
  type ReorganisationReport,
  type TestNetwork,
  type Transaction,
} from "./test-network.ts";

const customersCount = 6;
const xrp = 1_000_000n; // drops
const id = "xrp";
const chainId = 2;
const highestTag = 2 ** 32;
/** Between a lost ledger's payments one in so many never comes again. */
const lostFrom = 0.7;
/** So often a ledger closes without what was handed to it. */
const leavesOutBelow = 0.3;

/** Troubles of one node, until the next one has another; `head` is the newest ledger. */
const troubles: Readonly<Record<string, (head: number) => Trouble>> = {
  "no trouble": () => ({}),
  "a ledger behind": () => ({ lagLedgers: 1 }),
  "five ledgers behind": () => ({ lagLedgers: 5 }),
  "a hole in the newest ledgers": (head) => ({ holes: [{ from: head - 3, to: head - 2 }] }),
  "two holes": (head) => ({
    holes: [
      { from: head - 12, to: head - 10 },
      { from: head, to: head + 2 },
    ],
  }),
  "a short history": (head) => ({ first: head - 8 }),
  "not full": () => ({ serverState: "syncing" }),
  "forgets transactions": () => ({ taking: "drops" }),
  "cut connections": () => ({ isCut: true, times: 12 }),
  "cuts after their effect": () => ({ isCutLate: true, times: 12 }),
  "pages in place of answers": () => ({ isGarbage: true, times: 12 }),
  "busy answers": () => ({ status: 503, times: 12 }),
  "a small queue": () => ({ openFeeDrops: 5_000n }),
};

export class XrpTestNetwork implements TestNetwork {
  readonly coin = { id, decimal: 6 };
  readonly currencies = { coin: id };
  readonly decimals = { [id]: 6 };
  readonly shapes = tagShapes;
  readonly asked: TestNetwork["asked"] = { coin: { least: 2n * xrp, most: 200n * xrp } };
  readonly sweptFrom = {};
  readonly robbed = new Set<string>();
  readonly node: XrpNode;
  readonly #customers: readonly Person[];
  readonly #sent = new Map<string, Transaction>(); // by transaction id
  #turn = 0;
  #from: number | null = null; // the newest ledger before anybody paid

  private constructor(node: XrpNode) {
    this.node = node;
    this.#customers = Array.from({ length: customersCount }, (_, at) => person(`customer ${at}`));
    for (const { address } of this.#customers) node.fund(address, 1_000_000n * xrp);
  }

  /** One chain behind a rippled and a Clio. @throws Error where Ripple's packages do not load */
  static async open(closeMs: number, pair: readonly XrpProfile[]): Promise<XrpTestNetwork> {
    const fronts = pair.map(({ front }) => front);
    const node = await startXrpNode({
      fronts,
      isPaced: true,
      closeMs,
      rules: { networkId: chainId },
    });
    apply(node.fronts, pair);
    return new XrpTestNetwork(node);
  }

  /** The members of gateway.config.json for the chain and its coin. */
  served() {
    return servedByXrp(this.node, { chains: {}, currencies: {} });
  }

  /** The X-address, of a main network whatever the network; the address itself without a tag. */
  payeeOf(address: string, tag: string): string {
    return codecs().addresses.classicAddressToXAddress(
      address,
      tag === "" ? false : Number(tag),
      false,
    );
  }

  nameOf(address: string): string {
    return address;
  }

  newAddress(payee: Nobody, beside: string): string {
    const { classicAddress } = codecs().addresses.xAddressToClassicAddress(beside);
    const tag = randomBytes(4).readUInt32BE() % highestTag;
    if (payee === "no tag") return this.payeeOf(classicAddress, "");
    return this.payeeOf(
      payee === "nobody" ? person(`nobody ${tag}`).address : classicAddress,
      `${tag}`,
    );
  }

  addressAt(): null {
    return null;
  }

  receivingAccount(mnemonic: string): string {
    return `xrp=${HDNodeWallet.fromPhrase(mnemonic, "", "m/44'/144'/0'").neuter().extendedKey}`;
  }

  async send(transaction: Transaction): Promise<void> {
    this.#from ??= this.node.chain.head.index;
    const [{ asset, to, units } = { asset: "coin", to: "", units: 0n }] = transaction.pays;
    const { addresses } = codecs();
    const isPlain = addresses.isValidClassicAddress(to);
    const { classicAddress, tag } = isPlain
      ? { classicAddress: to, tag: false as const }
      : addresses.xAddressToClassicAddress(to);
    const tagged = tag === false ? undefined : tag;
    const { people } = this.node;
    if (asset === "lookAlike")
      return void people.payToken(classicAddress, `${units / xrp}`, tagged);
    if (transaction.isPartial === true)
      return void people.payPartly(classicAddress, units * 50n, units, tagged);
    this.#turn += 1;
    const customer = this.#customers[this.#turn % this.#customers.length] as Person;
    const { hash, result } = people.pay(customer, classicAddress, units, tagged);
    if (result !== "tesSUCCESS") throw new Error(`the chain refused a payment: ${result}`);
    this.#sent.set(hash, transaction);
  }

  async reorganise(random: Random, loses: boolean): Promise<ReorganisationReport> {
    const name = Object.keys(troubles)[
      Math.floor(random() * Object.keys(troubles).length)
    ] as string;
    const struck = Math.floor(random() * this.node.fronts.length);
    const { index } = this.node.chain.head;
    for (const [at, front] of this.node.fronts.entries())
      front.suffer(at === struck ? (troubles[name]?.(index) ?? {}) : {});
    const done = { blocks: 0, again: 0, redone: 0, lost: 0, ours: 0, trouble: name };
    const { opened } = this.node.chain.open;
    if (
      random() >= leavesOutBelow ||
      opened.length === 0 ||
      opened.some(({ isFromOutside }) => isFromOutside)
    )
      return done;
    const open = opened.map(({ tx }) => tx.hash);
    if (random() < 0.5) {
      this.node.closeLedgers(1, "kept");
      return { ...done, again: open.length };
    }
    this.node.closeLedgers(1, "lost");
    for (const hash of open) {
      const sent = this.#sent.get(hash);
      if (sent === undefined) done.ours += 1;
      else if (!loses || random() < lostFrom) {
        await this.send(sent);
        done.redone += 1;
      } else {
        done.lost += 1;
        for (const { to } of sent.pays) this.robbed.add(to);
      }
    }
    return done;
  }

  async settled(): Promise<void> {
    for (const front of this.node.fronts) front.suffer({});
    const { chain } = this.node;
    const from = chain.head.index;
    await until("the payments' end on the chain", 60_000, async () =>
      chain.head.index > from + 1 ? true : undefined,
    );
    await sleep(chain.closeMs);
  }

  async read(addresses: readonly string[], hotWalletAddress: string): Promise<FinalChain> {
    const { chain } = this.node;
    const requests = new Set(addresses);
    const accounts = addresses.map(
      (address) => codecs().addresses.xAddressToClassicAddress(address).classicAddress,
    );
    const arrived = new Map<string, Map<string, bigint>>();
    const receivedByTag = new Map<string, Map<string, bigint>>();
    const unattributed: string[] = [];
    for (const account of new Set([...accounts, hotWalletAddress]))
      for (const { tx, result, delivered, ledgerIndex } of chain.touching(account)) {
        if (ledgerIndex <= (this.#from ?? 0)) continue; // the hot wallet's first funds
        const { Destination: destination, DestinationTag: tag = "" } = tx.fields;
        const isPaid = result === "tesSUCCESS" && tx.type === "Payment" && destination === account;
        if (!isPaid || typeof delivered !== "string") continue;
        const [payee, drops] = [this.payeeOf(account, `${tag}`), BigInt(delivered)];
        arrived.set(payee, new Map([[id, (arrived.get(payee)?.get(id) ?? 0n) + drops]]));
        if (!requests.has(payee))
          unattributed.push(`${decimalText(drops, this.coin.decimal)} ${tag}`);
        else if (account !== hotWalletAddress)
          receivedByTag.set(
            account,
            new Map([[id, (receivedByTag.get(account)?.get(id) ?? 0n) + drops]]),
          );
      }
    const fees = chain
      .touching(hotWalletAddress)
      .filter(({ tx }) => tx.account === hotWalletAddress);
    const { balanceDrops = 0n } = chain.head.state.account(hotWalletAddress) ?? {};
    return {
      ...{ arrived, unattributed, held: new Map(), left: [] },
      hotWallet: new Map([[id, balanceDrops - chain.rules.reserveBaseDrops]]),
      receivedByTag,
      feesUnits: fees.reduce((all, { tx }) => all + (tx.feeDrops ?? 0n), 0n),
    };
  }
}
