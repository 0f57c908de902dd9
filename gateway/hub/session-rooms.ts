/**
 * The interface between a session and the hub: the hub's parts for a session, and the session's
 * reports to the hub. Only types.
 */
import type { KeyObject } from "node:crypto";
import type { GatewayLog } from "../../base/log.ts";
import type { AgentLedgerHead, Statement } from "../../protocol/messages.ts";
import type { SightingsQuestion } from "../../protocol/sightings.ts";
import type { Store } from "../store/store.ts";
import type { ClearOrders } from "../withdrawals/clearing.ts";
import type { LinkLimits } from "./link-limits.ts";
import type { StatementsHalt } from "./statements.ts";

/** An agent whose hello was accepted. */
export interface LiveAgent {
  readonly id: string;
  readonly ledgerEpoch: number;
  readonly linkKey: KeyObject;
  readonly signerKey: KeyObject;
}

/** `S` is the session itself. */
export interface SessionRooms<S> {
  readonly store: Store;
  readonly gatewayKey: KeyObject;
  readonly log: GatewayLog;
  readonly clock: () => number;
  readonly limits: LinkLimits;
  readonly run: string; // names this process (store/owner.ts)
  /**
   * The hello has the agent's own signature; it may still be refused. `software` is the agent's
   * name for its program.
   */
  readonly onHello: (session: S, agentId: string, software: string) => void;
  /** The hello was accepted; `agentId` is set from now on. */
  readonly onLive: (session: S) => void;
  readonly onStatement: (session: S, statement: Statement) => void;
  readonly onHeartbeat: (session: S, head: AgentLedgerHead | null) => void;
  /** The withdrawals among these that nothing on the chain pays already. */
  readonly clear: ClearOrders;
  /** The agent asks what this gateway's nodes show; the answer is for the session to send. */
  readonly onQuestion: (session: S, question: SightingsQuestion) => void;
  /** The agent is refused, and an operator must learn why. */
  readonly onHalt: (agentId: string, halt: StatementsHalt) => void;
  readonly onClosed: (session: S) => void;
}
