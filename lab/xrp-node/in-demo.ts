/** XRP in the demo: a node that stands in for rippled, or a line that says what it lacks. */
import type { Kit, ServedChains } from "../kit/kit.ts";
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
export function servedByXrp(node: XrpNode | null, others: ServedChains): ServedChains {
  if (node === null) return others;
  const currency = { chain: "ripple", decimal: 6, name: "XRP", symbol: "XRP", market: "" };
  return {
    chains: {
      ...others.chains,
      ripple: { family: "xrp", chainId, nodes: node.urls, confirmations: "finalized" },
    },
    currencies: {
      ...others.currencies,
      xrp: { ...currency, minPaymentAmount: "0.01", minWithdrawAmount: "0.01" },
    },
    prices: { ...others.prices, xrp: { usd: "2", eur: "1.8", try: "90" } },
  };
}

/** Sends the hot wallet its first XRP. */
export async function fundXrp(node: XrpNode | null, kit: Kit): Promise<void> {
  if (node === null) return;
  const { output } = await kit.cli("address", "xrp", "--json");
  node.fund((JSON.parse(output) as { address: string }).address, dropsAtFirst);
}

/** The account of a new wallet begins by itself, once the nodes of agent and gateway show it. */
export async function awaitXrp(node: XrpNode | null, kit: Kit): Promise<void> {
  if (node === null) return;
  await until("the sequence at which XRP begins", 60_000, async () =>
    (await nextSequence(kit)) === "" ? undefined : true,
  );
}

/** The next sequence of the hot wallet as the signer has it; "" before its account has begun. */
export async function nextSequence(kit: Kit): Promise<string> {
  const { output } = await kit.cli("status", "--json");
  const { status } = JSON.parse(output) as {
    status: { accounts: readonly { chain: string; nextSlot: string }[] };
  };
  return status.accounts.find(({ chain }) => chain === "ripple")?.nextSlot ?? "";
}

export function xrpTripsOf(node: XrpNode | null): readonly Trip[] {
  if (node === null) return [];
  const [customer, receiver] = [person("customer"), person("receiver")];
  node.fund(customer.address, dropsAtFirst);
  return [
    {
      ...{
        currency: "xrp",
        network: `xrpl:${chainId}`,
        decimal: 6,
        amount: "75.5",
        sweepFee: "beside",
      },
      newReceiver: () => receiver.address,
      async pay(address, drops, tag) {
        node.people.pay(customer, address, drops, Number(tag));
      },
      held: async (address) => node.balance(address),
    },
  ];
}
