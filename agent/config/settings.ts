/**
 * config.json as types: all that the agent reads, without its three secrets. `config.ts` parses it.
 */
import type { Egress } from "../../base/egress.ts";
import type { NoticeTarget } from "../../base/settings.ts";
import type { AddressSpaceName, ChainId, NodesFrom, ServerLines } from "../../chains/family.ts";

export interface ChainSettings {
  readonly family: AddressSpaceName;
  readonly chainId: ChainId; // in the family's one spelling
  readonly nodes: readonly string[]; // 1 … 8 http or https addresses
  readonly confirmations: number | "finalized"; // 1 … 10000
  readonly feeModel?: string; // one of the family's fee models; by default the chain's id decides
  readonly nodesFrom?: NodesFrom; // the party that named them: chains/families.ts
  readonly servers?: Readonly<Record<string, ServerLines>>; // further lines of nodes, by address
}

export interface CurrencySettings {
  readonly chain: string; // a key of chains
  readonly decimal: number; // 0 … 36
  readonly contract?: string; // canonical; absent for the native coin
}

/**
 * Amounts are decimal strings of the currency; fees of the chain's native coin (18 decimals on
 * EVM).
 */
export interface PolicySettings {
  readonly maxPerWithdrawal: string;
  readonly maxPerHour?: string;
  readonly maxPerDay: string;
  readonly maxFee: string; // for one withdrawal, for its most expensive attempt
  readonly maxFeePerDay: string;
  readonly maxTip?: string; // most that an attempt offers the block producer for a unit of computation, in the family's unit for tips
  readonly holdAbove?: string;
  readonly twoApproversAbove?: string;
  readonly manualReplaceAbove?: string; // above it, only an operator can order another attempt after a void one
  /**
   * For destinations that this agent has never paid. At least one of the two; 1 … 10080 minutes.
   */
  readonly newDestination?: { readonly holdAbove?: string; readonly delayMinutes?: number };
  readonly allow?: readonly string[]; // when not empty, only these destinations
  readonly deny?: readonly string[];
  readonly sweeps?: SweepSettings;
}

/**
 * Sweeps of a currency, and the top-ups that let an address pay for a sweep. Fees and top-ups are
 * in the chain's native coin. `maxFee` and `maxFeePerDay` default to those of withdrawals;
 * `maxTopUp` and `maxTopUpPerDay` default to the two before them.
 */
export interface SweepSettings {
  readonly allowed?: boolean; // default true
  readonly maxFee?: string;
  readonly maxFeePerDay?: string;
  readonly maxTopUp?: string;
  readonly maxTopUpPerDay?: string;
}

export interface AgentSettings {
  readonly gatewayUrl: string; // origin, https unless loopback
  readonly chains: Readonly<Record<string, ChainSettings>>;
  readonly currencies: Readonly<Record<string, CurrencySettings>>;
  readonly policy: Readonly<Record<string, PolicySettings>>;
  readonly stuckAfterMinutes: number; // after this time `status` calls an open withdrawal stuck; 1 … 10080
  readonly notify?: NotifySettings;
  readonly metrics?: MetricsSettings;
  readonly network?: NetworkSettings;
}

/** The way out of a company's network, for the gateway, for each node and for `notify.url`. */
export interface NetworkSettings {
  readonly ca?: string; // absolute path of a PEM file: trusted besides the machine's own certificates
  readonly proxy?: string; // http://[USER:PASSWORD@]HOST:PORT
  readonly direct: readonly string[]; // hosts and .domains that the proxy is not asked for
}

export interface NotifySettings {
  readonly target: NoticeTarget;
  readonly stuckMinutes: number; // a withdrawal without progress for this time is stuck
  readonly awayMinutes: number; // link or nodes
  // by currency, decimal strings: a lower balance is low
  readonly lowFunds: Readonly<Record<string, string>>;
}

/** The address of the metrics: metrics.sock in the courier's folder, or a port of this machine. */
export interface MetricsSettings {
  readonly listen:
    | { readonly kind: "unix" }
    | { readonly kind: "tcp"; readonly host: string; readonly port: number };
}

/**
 * The settings that the courier gets from the launcher: no secret, and only settings that it needs.
 */
export interface CourierSettings {
  readonly gatewayUrl: string;
  readonly chains: Readonly<Record<string, ChainSettings>>;
  readonly currencies: Readonly<Record<string, CurrencySettings>>;
  readonly stateDir: string; // its own folder: link.json
  readonly signerSocket: string;
  readonly logLevel: "debug" | "info" | "warn" | "error";
  readonly configDigest: string; // agent/config/digest.ts
  readonly configReadMs: number; // agent/socket/config-read.ts
  readonly notify?: NotifySettings;
  readonly metrics?: MetricsSettings;
  readonly egress?: Egress;
}

/** The settings that the signer gets, without an address of any node or gateway. */
export interface SignerSettings {
  readonly chains: Readonly<
    Record<string, Pick<ChainSettings, "family" | "chainId" | "feeModel" | "nodesFrom">>
  >;
  readonly currencies: Readonly<Record<string, CurrencySettings>>;
  readonly policy: Readonly<Record<string, PolicySettings>>;
  readonly stuckAfterMinutes: number;
  readonly stateDir: string; // its own folder: keystore.json, ledger/
  readonly courierSocket: string; // path, or "fd:N" when inherited
  readonly operatorSocket: string;
  readonly encKeyFrom: "credential" | "file" | "terminal" | "config";
  readonly config: ConfigSource;
}

/** The config.json of a process. */
export interface ConfigSource {
  // absolute path of the file that the operator edits, even if the service manager gave a copy of
  // it
  readonly path: string;
  readonly digest: string; // agent/config/digest.ts
  readonly readAt: number; // Unix milliseconds
  readonly readMs: number; // agent/socket/config-read.ts
}
