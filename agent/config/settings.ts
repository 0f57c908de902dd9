/**
 * config.json as types: what the agent reads, without its three secrets. Parsing is `config.ts`.
 */
import type { ChainId, FamilyName, NodesFrom } from "../../chains/family.ts";

/** @public */
export interface ChainSettings {
  readonly family: FamilyName;
  readonly chainId: ChainId; // in the family's one spelling
  readonly nodes: readonly string[]; // 1 … 8 http or https addresses
  readonly confirmations: number | "finalized"; // 1 … 10000
  readonly feeModel?: string; // one of the family's; by the chain's id unless told
  readonly nodesFrom?: NodesFrom; // who named them: chains/families.ts
}

/** @public */
export interface CurrencySettings {
  readonly chain: string; // a key of chains
  readonly decimal: number; // 0 … 36
  readonly contract?: string; // canonical; absent for the native coin
}

/**
 * Amounts are decimal strings of the currency; fees of the chain's native coin (18 decimals on
 * EVM).
 * @public
 */
export interface PolicySettings {
  readonly maxPerWithdrawal: string;
  readonly maxPerHour?: string;
  readonly maxPerDay: string;
  readonly maxFee: string; // for one withdrawal, its dearest version
  readonly maxFeePerDay: string;
  readonly maxTip?: string; // most that a version offers the block's maker a unit of work, in the family's unit for tips
  readonly holdAbove?: string;
  readonly twoApproversAbove?: string;
  readonly resignAbove?: string; // above it only a person has a dead version followed by another
  /** Of destinations that this agent has never paid; one of the two at least, 1 … 10080 minutes. */
  readonly newDestination?: { readonly holdAbove?: string; readonly delayMinutes?: number };
  readonly allow?: readonly string[]; // when not empty, only these destinations
  readonly deny?: readonly string[];
  readonly sweeps?: SweepSettings;
}

/**
 * Sweeps of a currency, and the top-ups that let an address pay for one. Fees and top-ups in the
 * chain's native coin; what is left out is as for withdrawals: `maxFee` and `maxFeePerDay`, and for
 * the two of top-ups the same again.
 * @public
 */
export interface SweepSettings {
  readonly allowed?: boolean; // true unless told
  readonly maxFee?: string;
  readonly maxFeePerDay?: string;
  readonly maxTopUp?: string;
  readonly maxTopUpPerDay?: string;
}

/** @public */
export interface AgentSettings {
  readonly gatewayUrl: string; // origin, https unless loopback
  readonly chains: Readonly<Record<string, ChainSettings>>;
  readonly currencies: Readonly<Record<string, CurrencySettings>>;
  readonly policy: Readonly<Record<string, PolicySettings>>;
  readonly stuckAfterMinutes: number; // after it `status` calls an open withdrawal stuck; 1 … 10080
  readonly notify?: NotifySettings;
  readonly metrics?: MetricsSettings;
}

/**
 * Whom the courier tells of events: a program, its arguments, or an address.
 * @public
 */
export type NotifyTarget =
  | { readonly kind: "command"; readonly command: readonly string[] }
  // https unless loopback; its path may be a secret
  | { readonly kind: "url"; readonly url: string };

/** @public */
export interface NotifySettings {
  readonly target: NotifyTarget;
  readonly stuckMinutes: number; // a withdrawal that does not go on for so long is stuck
  readonly awayMinutes: number; // link or nodes
  // by currency, decimal strings: less than that is little
  readonly lowFunds: Readonly<Record<string, string>>;
}

/**
 * Where metrics are served: metrics.sock in the courier's folder, or a port of this machine.
 * @public
 */
export interface MetricsSettings {
  readonly listen: { readonly kind: "unix" } | { readonly kind: "tcp"; readonly host: string; readonly port: number };
}

/**
 * What the courier gets from the launcher: no secret, and nothing it does not need.
 * @public
 */
export interface CourierSettings {
  readonly gatewayUrl: string;
  readonly chains: Readonly<Record<string, ChainSettings>>;
  readonly currencies: Readonly<Record<string, CurrencySettings>>;
  readonly stateDir: string; // its own folder: link.json
  readonly signerSocket: string;
  readonly logLevel: "debug" | "info" | "warn" | "error";
  readonly configDigest: string; // agent/config/digest.ts
  readonly notify?: NotifySettings;
  readonly metrics?: MetricsSettings;
}

/**
 * What the signer gets: no address of any node or gateway.
 * @public
 */
export interface SignerSettings {
  readonly chains: Readonly<Record<string, Pick<ChainSettings, "family" | "chainId" | "feeModel" | "nodesFrom">>>;
  readonly currencies: Readonly<Record<string, CurrencySettings>>;
  readonly policy: Readonly<Record<string, PolicySettings>>;
  readonly stuckAfterMinutes: number;
  readonly stateDir: string; // its own folder: keystore.json, ledger/
  readonly courierSocket: string; // path, or "fd:N" when inherited
  readonly operatorSocket: string;
  readonly encKeyFrom: "credential" | "file" | "terminal" | "config";
  readonly config: ConfigSource;
}

/**
 * Which config.json a process goes by.
 * @public
 */
export interface ConfigSource {
  // absolute: the file a person edits, also where the service manager handed over a copy of it
  readonly path: string;
  readonly digest: string; // agent/config/digest.ts
  readonly readAt: number; // Unix milliseconds
}
