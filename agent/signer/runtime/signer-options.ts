/**
 * Everything that a signer is made of, passed in: state, ledger, vault, clocks, and the receivers
 * of its messages.
 */

import type { AgentError } from "../../../base/fault.ts";
import type { ConfiguredChain } from "../../../chains/family.ts";
import type { ConfigSource } from "../../config/settings.ts";
import type { Ledger } from "../../ledger/ledger.ts";
import type { PushMessage } from "../../socket/verbs.ts";
import type { SignerRun } from "../handlers/context.ts";
import type { Core } from "../state/core.ts";
import type { Vault } from "../vault/vault.ts";
import type { Log } from "./log.ts";
import type { StopMark } from "./stop-mark.ts";

export interface SignerOptions {
  readonly core: Core; // with the complete ledger replayed
  readonly ledger: Ledger;
  readonly vault: Vault;
  /** A new run of this process; the ledger's time comes from the same run. */
  readonly run: SignerRun;
  readonly clock: () => number; // local
  readonly monotonic: () => number; // milliseconds
  readonly chains: Readonly<Record<string, ConfiguredChain>>; // by name in the settings
  readonly config: Pick<ConfigSource, "path" | "digest">; // the configuration by which the core decides
  readonly push: (message: PushMessage) => void; // to every courier connected
  readonly log: Log;
  /** The mark outside the ledger for pause and lock; absent in tests without such a file. */
  readonly mark?: StopMark;
  /** Calls back once, at the end of this turn of the event loop, after the answers. */
  readonly soon: (act: () => void) => void;
  /**
   * Calls back once, a little later, so that records without waiting clients share a sync with
   * later records.
   */
  readonly later: (act: () => void) => void;
  /** Calls back once, after the requests that arrived meanwhile; long work continues then. */
  readonly next: (act: () => void) => void;
  /** The disk failed: nothing is answered any more, and the process must end. */
  readonly onPoisoned: (fault: AgentError) => void;
}
