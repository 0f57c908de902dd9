/**
 * What a signer is made of, all of it passed in: folded state, ledger, vault, clocks, and whom it
 * tells.
 */
import type { ConfiguredChain } from "../../../chains/family.ts";
import type { AgentError } from "../../../protocol/fault.ts";
import type { ConfigSource } from "../../config/settings.ts";
import type { Ledger } from "../../ledger/ledger.ts";
import type { Push } from "../../socket/verbs.ts";
import type { Run } from "../acts/run.ts";
import type { Core } from "../state/core.ts";
import type { Vault } from "../vault/vault.ts";
import type { Log } from "./log.ts";
import type { StopMark } from "./stop-mark.ts";

/** @public */
export interface SignerOptions {
  readonly core: Core; // with the whole ledger folded
  readonly ledger: Ledger;
  readonly vault: Vault;
  /** Of this process, new: the ledger is stamped by the same. */
  readonly run: Run;
  readonly clock: () => number; // local
  readonly monotonic: () => number; // milliseconds
  readonly chains: Readonly<Record<string, ConfiguredChain>>; // by name in the settings
  readonly config: Pick<ConfigSource, "path" | "digest">; // by which the core decides
  readonly push: (message: Push) => void; // to every courier connected
  readonly log: Log;
  /** Outside the ledger, of what stops signatures; none where a test has no such file. */
  readonly mark?: StopMark;
  /** Calls back once, at the end of this turn, when what was answered in it is on its way. */
  readonly soon: (act: () => void) => void;
  /**
   * Calls back once, a little later: what nobody waits for shares a sync with what comes until
   * then.
   */
  readonly later: (act: () => void) => void;
  /** Calls back once, when what came meanwhile has been heard: long work goes on then. */
  readonly next: (act: () => void) => void;
  /** The disk failed: nothing is answered any more, the process must end. */
  readonly onPoisoned: (fault: AgentError) => void;
}
