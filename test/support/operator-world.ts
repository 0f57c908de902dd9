/**
 * A world for an operator's commands: the real gateway over a local EVM chain, behind a front that
 * may show single answers oddly, and over a chain of XRP; a merchant who receives on both; and each
 * command typed as a process of its own.
 */
import { join } from "node:path";

import { DatabaseSync } from "@photostructure/sqlite";
import { HDNodeWallet, parseEther, Wallet } from "ethers";
import {
  type FakeAnswer,
  type FakeNode,
  forwarding,
  type RpcCall,
  startFakeNode,
} from "../../lab/kit/fake-node.ts";
import { type Kit, settle, startKit } from "../../lab/kit/kit.ts";
import { until } from "../../lab/kit/processes.ts";
import { rpc } from "../../lab/kit/rpc.ts";
import { createShop, type Shop } from "../../lab/kit/shop.ts";
import { person } from "../../lab/xrp-node/people.ts";
import { startXrpNode, type XrpNode } from "../../lab/xrp-node/xrp-node.ts";
import { type Typed, typeGateway } from "./typed-commands.ts";

const waitMs = 120_000;
const confirmations = 3;
const xrpNetwork = 1;
const drops = 1_000_000n;
const customerIndex = 3;
const chainMnemonic = "test test test test test test test test test test test junk";

export interface OperatorWorld {
  readonly kit: Kit;
  readonly shop: Shop;
  readonly otherShop: Shop; // of another merchant, with addresses of its own
  readonly xrp: XrpNode;
  /** The front's own change of an answer; answers of the chain itself by default. */
  lie: (call: RpcCall, answer: FakeAnswer) => FakeAnswer;
  /** `node gateway/gateway.js … --json` on this gateway's configuration. */
  type(...words: string[]): Promise<Typed>;
  /** Opens the gateway's own database file, as another process does. */
  openDatabase(): InstanceType<typeof DatabaseSync>;
  /** Sends ether by a transaction that the chain includes at once; its hash and bytes. */
  pay(address: string, ether: string): Promise<{ readonly hash: string; readonly raw: string }>;
  /** Makes all that is on the EVM chain final. */
  settle(): Promise<void>;
  /** Waits until a deposit of the shop is like that. */
  becomes(id: string, wanted: Readonly<Record<string, unknown>>): Promise<void>;
  close(): Promise<void>;
}

/** A merchant that receives on both chains and pairs no server. */
async function createReceiver(kit: Kit, name: string, xrpAddress: string): Promise<Shop> {
  const { extendedKey } = HDNodeWallet.createRandom("", "m/44'/60'/0'").neuter();
  const made = await kit.operate(
    "merchant",
    "create",
    name,
    "--xpub",
    extendedKey,
    "--xpub",
    `xrp=${xrpAddress}`,
    "--json",
  );
  const { shopKey } = JSON.parse(made.slice(made.indexOf("{"))) as { shopKey: string };
  return createShop({ gatewayUrl: kit.gatewayUrl, shopKey });
}

export async function startOperatorWorld(): Promise<OperatorWorld> {
  const xrp = await startXrpNode({ fronts: [{}], rules: { networkId: xrpNetwork } });
  let front: FakeNode | undefined;
  const kit = await startKit({
    inProcess: true,
    alsoServes: async (nodeUrl) => {
      const honest = forwarding(nodeUrl);
      front = await startFakeNode({ answer: async (call) => world.lie(call, await honest(call)) });
      return {
        chains: {
          local: { family: "evm", chainId: 31_337, nodes: [front.url], confirmations },
          ripple: {
            family: "xrp",
            chainId: xrpNetwork,
            nodes: xrp.urls,
            confirmations: "finalized",
          },
        },
        currencies: {
          xrp: {
            ...{ chain: "ripple", decimal: 6, name: "XRP", symbol: "XRP", market: "" },
            ...{ minPaymentAmount: "0.01", minWithdrawAmount: "0.01" },
          },
        },
      };
    },
  });
  const payer = HDNodeWallet.fromPhrase(chainMnemonic, "", `m/44'/60'/0'/0/${customerIndex}`);
  const world: OperatorWorld = {
    kit,
    xrp,
    shop: null as never,
    otherShop: null as never,
    lie: (_call, answer) => answer,
    type: (...words) => typeGateway(kit, words),
    openDatabase: () =>
      new DatabaseSync(join(kit.dir, "gateway", "gateway.db"), { timeout: 10_000 }),
    async pay(to, ether) {
      const nonce = Number(
        await rpc(kit.anvil.url, "eth_getTransactionCount", [payer.address, "pending"]),
      );
      const fees = { maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n };
      const asked = {
        to,
        value: parseEther(ether),
        nonce,
        gasLimit: 21_000n,
        chainId: 31_337n,
        type: 2,
        ...fees,
      };
      const raw = await new Wallet(payer.privateKey).signTransaction(asked);
      return { raw, hash: String(await rpc(kit.anvil.url, "eth_sendRawTransaction", [raw])) };
    },
    settle: () => settle(kit.anvil.url, confirmations + 1),
    async becomes(id, wanted) {
      const isLike = (found: object) =>
        Object.entries(wanted).every(([name, value]) => found[name as never] === value);
      let last = "";
      await until(
        `${id} is ${JSON.stringify(wanted)}`,
        waitMs,
        async () => {
          const found = await world.shop.transaction(id, 1);
          last = JSON.stringify(found);
          return isLike(found) ? true : undefined;
        },
        () => `${last}\n${kit.gateway?.output().slice(-3_000)}`,
      );
    },
    async close() {
      await kit.close();
      await front?.close();
      await xrp.close();
    },
  };
  for (const name of ["customer", "merchant", "other"])
    xrp.fund(person(name).address, 1_000n * drops);
  const [shop, otherShop] = [
    await createReceiver(kit, "Receiver", person("merchant").address),
    await createReceiver(kit, "Other", person("other").address),
  ];
  xrp.pace(true);
  await kit.startGateway(waitMs);
  return Object.assign(world, { shop, otherShop });
}
