/**
 * What a session needs of the hub, and what it tells it. Types alone.
 */
import type { KeyObject } from "node:crypto";
import type { GatewayLog } from "../../protocol/log.ts";
import type { Head, Statement } from "../../protocol/messages.ts";
import type { Store } from "../store/store.ts";
import type { LinkLimits } from "./link-limits.ts";

/** An agent that said a hello that held. */
export interface Live {
  readonly id: string;
  readonly epoch: number;
  readonly linkKey: KeyObject;
  readonly signerKey: KeyObject;
}

/**
 * `S` is the session itself.
 * @public
 */
export interface SessionRooms<S> {
  readonly store: Store;
  readonly gatewayKey: KeyObject;
  readonly log: GatewayLog;
  readonly clock: () => number;
  readonly limits: LinkLimits;
  /** The hello is the agent's own, whatever comes of it: what the agent calls its software. */
  readonly onHello: (session: S, agentId: string, software: string) => void;
  /** The hello held: from here `agentId` is set. */
  readonly onLive: (session: S) => void;
  readonly onStatement: (session: S, statement: Statement) => void;
  readonly onBeat: (session: S, head: Head | null) => void;
  readonly onBehind: (agentId: string, detail: string) => void;
  readonly onClosed: (session: S) => void;
}
