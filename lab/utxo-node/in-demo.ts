/** Bitcoin in the demo: a real bitcoind where it is there, or a line that names the command. */
import type { ServedChains } from "../kit/kit.ts";
import type { Trip } from "../kit/round-trip.ts";
import { missing } from "./daemon.ts";
import { startUtxoNetwork, type UtxoTestNetwork } from "./network.ts";
import { UtxoPeople } from "./people.ts";

/** A real bitcoind with its people. */
export interface Bitcoin {
  readonly testNetwork: UtxoTestNetwork;
  readonly people: UtxoPeople;
}

const regtest = "0f9188f13cb7b2c71f2a335e3a4fc328";
const blockMs = 400;

/** Null where the daemon is not there. */
export async function openBitcoin(tell: (what: string) => void): Promise<Bitcoin | null> {
  const lacks = missing("bitcoin");
  if (lacks !== null) {
    tell(`Bitcoin is left out: ${lacks}`);
    return null;
  }
  const testNetwork = await startUtxoNetwork("bitcoin");
  const people = await UtxoPeople.open(testNetwork);
  people.mines(blockMs);
  return { testNetwork, people };
}

/** The members of gateway.config.json for other chains, and for Bitcoin beside them. */
export function servedBy(bitcoin: Bitcoin | null, others: ServedChains): ServedChains {
  if (bitcoin === null) return others;
  const { urls: nodes } = bitcoin.testNetwork;
  const chain = { family: "bitcoinregtest", chainId: regtest, nodes, confirmations: 3 };
  const least = {
    minPaymentAmount: "0.0001",
    minWithdrawAmount: "0.0001",
    sweep: { least: "0.001" },
  };
  const currency = {
    chain: "bitcoin",
    decimal: 8,
    name: "Bitcoin",
    symbol: "BTC",
    market: "",
    ...least,
  };
  return {
    chains: { ...others.chains, bitcoin: chain },
    currencies: { ...others.currencies, btc: currency },
    prices: { ...others.prices, btc: { usd: "60000", eur: "52000", try: "2500000" } },
  };
}

export async function bitcoinTripsOf(bitcoin: Bitcoin | null): Promise<readonly Trip[]> {
  if (bitcoin === null) return [];
  const { people } = bitcoin;
  const receiver = await people.newAddress();
  return [
    {
      currency: "btc",
      network: `bip122:${regtest}`,
      decimal: 8,
      amount: "0.0125",
      sweepFee: "inside",
      newReceiver: () => receiver,
      pay: (address, sat) => people.pay(address, sat),
      held: (address) => people.held(address),
    },
  ];
}
