/** XRP in the demo: a node that stands in for rippled, or a line that says what it lacks. */
import type { Kit, Served } from "../kit/kit.ts";
import { until } from "../kit/processes.ts";
import type { Trip } from "../kit/round-trip.ts";
import { person } from "./people.ts";
import { startXrpNode, type XrpNode, xrpNodeMissing } from "./xrp-node.ts";

const chainId = 2;
const closeMs = 400;
const dropsAtFirst = 500_000_000n;

/** Null where the stand-in cannot run. */
export async function openXrp(tell: (what: string) => void): Promise<XrpNode | null> {
  if (xrpNodeMissing !== null) {
    tell(`XRP is left out: ${xrpNodeMissing}`);
    return null;
  }
  return startXrpNode({ fronts: [{}, {}], isPaced: true, closeMs, rules: { networkId: chainId } });
}

/** The members of gateway.config.json for other chains, and for XRP beside them. */
export function servedByXrp(node: XrpNode | null, others: Served): Served {
  if (node === null) return others;
  const currency = { chain: "ripple", decimal: 6, name: "XRP", symbol: "XRP", market: "" };
  return {
    chains: { ...others.chains, ripple: { family: "xrp", chainId, nodes: node.urls, confirmations: "finalized" } },
    currencies: { ...others.currencies, xrp: { ...currency, minPaymentAmount: "0.01", minWithdrawAmount: "0.01" } },
    prices: { ...others.prices, xrp: { usd: "2", eur: "1.8", try: "90" } },
  };
}

/** Sends the hot wallet its first XRP. */
export async function fundXrp(node: XrpNode | null, kit: Kit): Promise<void> {
  if (node === null) return;
  const { output } = await kit.cli("address", "xrp", "--json");
  node.fund((JSON.parse(output) as { address: string }).address, dropsAtFirst);
}

/** An operator's yes to the sequence at which the ledger began the account. */
export async function adoptXrp(node: XrpNode | null, kit: Kit): Promise<void> {
  if (node === null) return;
  const { output } = await kit.cli("address", "xrp", "--json");
  const { address } = JSON.parse(output) as { address: string };
  const sequence = node.chain.head.state.account(address)?.sequence;
  await until("the sequence at which XRP begins", 60_000, async () =>
    (await kit.cli("adopt", "ripple", "--yes", `${sequence}`)).code === 0 ? true : undefined,
  );
}

export function xrpTripsOf(node: XrpNode | null): readonly Trip[] {
  if (node === null) return [];
  const [customer, receiver] = [person("customer"), person("receiver")];
  node.fund(customer.address, dropsAtFirst);
  return [
    {
      ...{ currency: "xrp", network: `xrpl:${chainId}`, decimal: 6, amount: "75.5", paysFees: true },
      newReceiver: () => receiver.address,
      async pay(address, drops, tag) {
        node.people.pay(customer, address, drops, Number(tag));
      },
      held: async (address) => node.balance(address),
    },
  ];
}
