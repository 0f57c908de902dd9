/**
 * Everything that is the same in each run of one family of chains: wallet, keys, currencies and the
 * shapes of both configurations. Keys are derived once per process, since deriving takes longer
 * than a whole run. One run at a time: `settle` turns all names here to the family of the one that
 * begins.
 */

import type {
  CourierSettings,
  PolicySettings,
  SignerSettings,
} from "../../../agent/config/settings.ts";
import {
  deriveAccounts,
  pairedAccountsOf,
  walletFingerprintOfAccounts,
} from "../../../agent/keystore/nodes.ts";
import { Secret } from "../../../agent/keystore/secret.ts";
import { LedgerSeal } from "../../../agent/ledger/seal.ts";
import { unlockVault, type Vault } from "../../../agent/signer/vault/vault.ts";
import { networkOf } from "../../../chains/families.ts";
import type { ChainId } from "../../../chains/family.ts";
import type { GatewayKey } from "../../../gateway/auth/gateway-key.ts";
import type { GatewayConfig } from "../../../gateway/config/config.ts";
import { priceSettings } from "../../../gateway/config/price-settings.ts";
import { privateKeyFromSeed, publicKeyHex } from "../../../protocol/envelope.ts";
import type { PairedCurrency } from "../../../protocol/messages.ts";
import { gatewayFingerprintOf } from "../../../protocol/pairing.ts";
import { type Plan, receivers, type SimulatedFamily } from "./plan.ts";
import { waitingReceivers } from "./worlds.ts";

export const merchant = "m1";
export const chainName = "local";
/**
 * Eight seconds before a midnight: hours and days of the calendar end in the midst of a run, and
 * nothing may follow from it.
 */
export const begun = 1_700_006_392_000;
export const gatewayUrl = "http://127.0.0.1:9";

/**
 * After so long without a word a line is given up. If machines sleep for most of a run, the line
 * outlives a short sleep, since most of such a run would be handshakes otherwise. A longer sleep
 * ends it.
 */
export const linkDeadMs = {
  evm: 14_000,
  xrp: 14_000,
  bitcoinregtest: 14_000,
  litecoinregtest: 14_000,
  tron: 100_000,
} as const;

/** The seal of every ledger, since a machine's clone has the same keystore. */
export const seal = new LedgerSeal(new Uint8Array(32).fill(99));

const gatewayPrivate = privateKeyFromSeed(new Uint8Array(32).fill(200));
export const gatewayKey: GatewayKey = {
  privateKey: gatewayPrivate,
  publicKey: publicKeyHex(gatewayPrivate),
  fingerprint: gatewayFingerprintOf(publicKeyHex(gatewayPrivate)),
  sealingKey: new Uint8Array(32),
};

/** The coin that fees are paid in, and the token that both families have. */
interface Currency {
  readonly chain: string;
  readonly decimal: number;
  readonly contract?: string;
}

const seed = Uint8Array.from({ length: 64 }, (_, index) => index);

function stageOf(
  family: SimulatedFamily,
  chainId: ChainId,
  coin: Coin,
  contract: string,
  fees: Fees,
) {
  const ownAccounts = deriveAccounts(seed, [family]);
  const accounts = pairedAccountsOf(ownAccounts);
  const network = networkOf({ family, chainId });
  const vaults = new Map<number, Vault>();
  return {
    ...{ family, chainId, network, coin, contract, fees, ownAccounts, accounts },
    isOfCoins: family === "bitcoinregtest" || family === "litecoinregtest",
    wallet: walletFingerprintOfAccounts(ownAccounts),
    hotWallet: accounts[0]?.id ?? "",
    depositsId: accounts.find(({ purpose }) => purpose === "deposits")?.id ?? "",
    currencies: {
      [coin.id]: { chain: chainName, decimal: coin.decimal },
      ...(contract === "" ? {} : { usdt: { chain: chainName, decimal: 6, contract } }),
    } as Readonly<Record<string, Currency>>,
    pairedCurrencies: [
      { id: coin.id, network, contract: "", decimal: coin.decimal, maxFee: fees.maxFee },
      ...(contract === ""
        ? []
        : [{ id: "usdt", network, contract, decimal: 6, maxFee: fees.maxFee }]),
    ] as readonly PairedCurrency[],
    /** One wallet; every agent has a signer key of its own. */
    vaultOf(signerSeed: number): Vault {
      const known = vaults.get(signerSeed);
      if (known !== undefined) return known;
      const made = unlockVault({
        ...{
          wallet: walletFingerprintOfAccounts(ownAccounts),
          networks: [network],
          accounts: deriveAccounts(seed, [family]),
        },
        signerSeed: new Secret(new Uint8Array(32).fill(signerSeed)),
      });
      vaults.set(signerSeed, made);
      return made;
    },
  };
}

interface Coin {
  readonly id: "eth" | "trx" | "xrp" | "btc" | "ltc";
  readonly name: string;
  readonly decimal: number;
}

interface Fees {
  readonly maxFee: string;
  readonly maxFeePerDay: string;
}

type Stage = ReturnType<typeof stageOf>;

const made = new Map<SimulatedFamily, Stage>();

/** A call of a token's contract on Tron costs some TRX, and several of them in a day. */
const stages: Readonly<Record<SimulatedFamily, () => Stage>> = {
  evm: () =>
    stageOf(
      "evm",
      31_337,
      { id: "eth", name: "Ether", decimal: 18 },
      "0xdAC17F958D2ee523a2206206994597C13D831ec7",
      {
        ...{ maxFee: "0.01", maxFeePerDay: "0.2" },
      },
    ),
  tron: () =>
    stageOf(
      "tron",
      "0x94a9059e",
      { id: "trx", name: "Tron", decimal: 6 },
      "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
      {
        ...{ maxFee: "60", maxFeePerDay: "1200" },
      },
    ),
  bitcoinregtest: () =>
    stageOf(
      "bitcoinregtest",
      "0f9188f13cb7b2c71f2a335e3a4fc328",
      { id: "btc", name: "Bitcoin", decimal: 8 },
      "",
      {
        ...{ maxFee: "0.0005", maxFeePerDay: "0.05" },
      },
    ),
  litecoinregtest: () =>
    stageOf(
      "litecoinregtest",
      "530827f38f93b43ed12af0b3ad25a288",
      { id: "ltc", name: "Litecoin", decimal: 8 },
      "",
      {
        ...{ maxFee: "0.0005", maxFeePerDay: "0.05" },
      },
    ),
  xrp: () =>
    stageOf("xrp", 1, { id: "xrp", name: "XRP", decimal: 6 }, "", {
      maxFee: "0.0005",
      maxFeePerDay: "0.02",
    }),
};

function stageFor(family: SimulatedFamily): Stage {
  const known = made.get(family) ?? stages[family]();
  made.set(family, known);
  return known;
}

/** The run that goes on. */
export let stage: Stage = stageFor("evm");
export let {
  chainId,
  network,
  contract,
  hotWallet,
  wallet,
  accounts,
  ownAccounts,
  currencies,
  pairedCurrencies,
} = stage;

/** A run of this family begins. */
export function settle(family: SimulatedFamily): void {
  stage = stageFor(family);
  ({
    chainId,
    network,
    contract,
    hotWallet,
    wallet,
    accounts,
    ownAccounts,
    currencies,
    pairedCurrencies,
  } = stage);
}

export function vaultOf(signerSeed: number): Vault {
  return stage.vaultOf(signerSeed);
}

/** Limits of both currencies, as settings. */
const policies: Readonly<Record<Plan["policy"], Omit<PolicySettings, keyof Fees>>> = {
  wide: { maxPerWithdrawal: "2", maxPerHour: "50", maxPerDay: "100" },
  narrow: { maxPerWithdrawal: "0.35", maxPerHour: "0.45", maxPerDay: "0.55" },
  daily: { maxPerWithdrawal: "0.5", maxPerHour: "5", maxPerDay: "0.45", holdAbove: "0.2" },
  holding: { maxPerWithdrawal: "2", maxPerHour: "5", maxPerDay: "10", holdAbove: "0.2" },
};

/**
 * Minutes are whole in config.json; three seconds are enough to see a delay from both sides in a
 * run.
 */
const rules: Readonly<Record<Plan["rules"], Partial<PolicySettings>>> = {
  "": {},
  destinations: { newDestination: { holdAbove: "0.25", delayMinutes: 0.05 } },
  approvers: { twoApproversAbove: "0.15" },
};

/** The limits of one run. */
export function policyOf(plan: Plan): PolicySettings {
  // Low enough for a hostile courier to reach; honest ones would have to wait for tomorrow.
  const isTaken = plan.rates.hostileCourier > 0;
  const feePerDay = isTaken && stage.family === "evm" ? { maxFeePerDay: "0.012" } : {};
  const manualReplace =
    plan.manualReplaceAbove === "" ? {} : { manualReplaceAbove: plan.manualReplaceAbove };
  const sweeps = plan.maxTopUp === "" ? {} : { sweeps: { maxTopUp: plan.maxTopUp } };
  const allowed = plan.liars === "gateway and courier" ? { allow: allowedTo(plan) } : {};
  return {
    ...policies[plan.policy],
    ...stage.fees,
    ...feePerDay,
    ...rules[plan.rules],
    ...manualReplace,
    ...sweeps,
    ...allowed,
  };
}

/** The only destinations where gateway and courier lie together: all of the family but one. */
function allowedTo({ family }: Plan): readonly string[] {
  return (family === "evm" ? receivers : waitingReceivers).slice(0, 2);
}

function chainOf({ nodesFrom }: Plan): SignerSettings["chains"][string] {
  const from = nodesFrom === "" ? {} : { nodesFrom };
  return { family: stage.family, chainId, ...from } as SignerSettings["chains"][string];
}

export function signerSettings(plan: Plan): SignerSettings {
  const policy = policyOf(plan);
  return {
    chains: { [chainName]: chainOf(plan) },
    ...{
      currencies,
      policy: Object.fromEntries(Object.keys(currencies).map((id) => [id, policy])),
      stuckAfterMinutes: 1,
      stateDir: "",
      courierSocket: "",
      operatorSocket: "",
      encKeyFrom: "config",
      config: { path: "/config.json", digest: "c0".repeat(32), readAt: 1, readMs: 1 },
    },
  };
}

export function nodeUrls(plan: Plan): readonly string[] {
  return Array.from({ length: plan.nodes }, (_, index) => `http://node-${index + 1}`);
}

/** As both configurations name it. */
function confirmationsOf({ saysFinal, confirmations }: Plan): number | "finalized" {
  return saysFinal ? "finalized" : confirmations;
}

export function courierSettings(plan: Plan): Pick<CourierSettings, "chains" | "currencies"> {
  const confirmations = confirmationsOf(plan);
  return {
    chains: { [chainName]: { ...chainOf(plan), nodes: nodeUrls(plan), confirmations } },
    currencies,
  };
}

export function gatewayConfig(plan: Plan): GatewayConfig {
  const { coin } = stage;
  const nodes = nodeUrls(plan);
  const common = {
    chain: chainName,
    network,
    minPaymentAmount: "0.01",
    paymentTolerance: "0",
    surplusTolerance: "0",
    minWithdrawAmount: "0.01",
    enabled: true,
    depositOnly: false,
    ...{
      preset: "",
      market: "",
      listUnpriced: false,
      sweep: { isAutomatic: true, feeMultiple: 20, least: "0.000001" },
    },
  };
  const confirmations = confirmationsOf(plan);
  return {
    listen: { host: "127.0.0.1", port: 0, tls: null },
    ...{ publicUrl: gatewayUrl, trustProxy: [], database: ":memory:", postgres: null, keyFile: "" },
    chains: {
      [chainName]: {
        family: stage.family,
        chainId,
        preset: "",
        explorer: "",
        network,
        nodes,
        agentNodes: nodes,
        confirmations,
      },
    },
    currencies: {
      [coin.id]: { ...coin, symbol: coin.id.toUpperCase(), contract: "", ...common },
      ...(contract === ""
        ? {}
        : {
            usdt: { id: "usdt", name: "Tether", symbol: "USDT", decimal: 6, contract, ...common },
          }),
    },
    prices: priceSettings({}, {}, 0),
    books: { hour: 3 },
    limits: {
      ...{
        readsPerSecond: 1000,
        writesPerSecond: 1000,
        burst: 10,
        failedAuthPerTenMinutes: 1000,
        pairingsPerMinute: 1000,
      },
      payerReadsPerSecond: 1000,
      ...{ bodyBytesMax: 65_536, withdrawalWaitMs: 1_500, listMax: 100 },
    },
    lifetimes: {
      depositMinutes: plan.depositMinutes,
      confirmingHours: 0,
      withdrawalHours: 24,
      approvalDays: 7,
    },
    sweepsAtOnce: 4,
    callbacks: { allowLoopback: false, allowNetworks: [], retryMs: [], timeoutMs: 1_000 },
    ...{ logLevel: "silent", alerts: null, metrics: null },
  };
}
