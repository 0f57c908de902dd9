/**
 * The messages of one connection, without its bytes: challenge, hello, welcome, then jobs, acks and
 * heartbeats, until a message does not fit. Synchronous, with clock and keys passed in; `link.ts`
 * owns the socket. docs/protocol.md sections 2 and 4. The signer verifies jobs, acks and sightings
 * itself and trusts no other check. A second check here would double the most expensive step of a
 * job.
 */
import type { KeyObject } from "node:crypto";
import { AgentError } from "../../../base/fault.ts";
import {
  agentFrameBytesMax,
  frameKind,
  openEnvelope,
  sealEnvelope,
} from "../../../protocol/envelope.ts";
import {
  type EnvelopeKind,
  type Head,
  type Hello,
  kindsKnown,
  type OpenSlots,
} from "../../../protocol/messages.ts";
import { parseChallenge, parseHeartbeat, parseWelcome } from "../../../protocol/payloads.ts";

/** The agent for which the link speaks, as the signer's own `hello` gives it. */
export interface LinkSelf {
  readonly agent: string;
  readonly wallet: string;
  readonly ledgerEpoch: number;
  readonly nonce: string; // nonce of the signer's run; the welcome must repeat it
}

export interface SessionKeys {
  readonly gatewayKey: KeyObject; // pinned at pairing
  readonly linkKey: KeyObject; // private
}

/** The contents of a hello in addition to its sender. */
interface HelloContent {
  readonly software: string;
  readonly open: () => readonly OpenSlots[];
}

/** The result of a frame. `welcome` and `frame` carry the complete envelope, for the signer. */
export type FrameResult =
  | { readonly kind: "reply"; readonly frame: Uint8Array }
  | { readonly kind: "welcome"; readonly frame: Uint8Array }
  | { readonly kind: "recovery"; readonly frame: Uint8Array }
  | {
      readonly kind: "frame";
      readonly envelope: "jobs" | "ack" | "sightings";
      readonly frame: Uint8Array;
    }
  | { readonly kind: "heartbeat" };

export interface Session {
  /** @throws AgentError LINK_* or ENVELOPE_* or JSON_*; then the connection must be closed. */
  receive(frame: Uint8Array, nowMs: number): FrameResult;
  heartbeat(head: Head | null, nowMs: number): Uint8Array;
}

export function createSession(self: LinkSelf, keys: SessionKeys, said: HelloContent): Session {
  let phase: "challenge" | "welcome" | "open" = "challenge";
  let lastHeartbeatAt = -1;

  const open = (frame: Uint8Array, kind: EnvelopeKind): Uint8Array =>
    openEnvelope(frame, { kind, publicKey: keys.gatewayKey, bytesMax: agentFrameBytesMax }).payload;

  const challenged = (frame: Uint8Array, nowMs: number): FrameResult => {
    const challenge = parseChallenge(open(frame, "challenge"));
    // The gateway's key signed it, so nobody on the way can make a gateway look old.
    if ((challenge.kinds ?? 0) < kindsKnown) throw misfit("LINK_UPGRADE_REQUIRED", upgradeWords);
    const { agent, ledgerEpoch, nonce } = self;
    const { software } = said;
    const about = {
      agent,
      ledgerEpoch,
      answers: challenge.nonce,
      nonce,
      software,
      kinds: kindsKnown,
    };
    const hello: Hello = { ...about, open: said.open(), at: nowMs };
    phase = "welcome";
    return { kind: "reply", frame: sealEnvelope("hello", hello, keys.linkKey) };
  };

  const welcomed = (frame: Uint8Array): FrameResult => {
    const welcome = parseWelcome(open(frame, "welcome"));
    if (welcome.answers !== self.nonce)
      throw misfit("LINK_WELCOME_CHALLENGE", "the welcome answers another run's nonce");
    if (welcome.agent !== self.agent || welcome.wallet !== self.wallet) {
      throw misfit("LINK_WELCOME_AGENT", "the welcome is for another agent or wallet");
    }
    phase = "open";
    return { kind: "welcome", frame };
  };

  const heartbeatOf = (frame: Uint8Array): FrameResult => {
    const heartbeat = parseHeartbeat(open(frame, "heartbeat"));
    // Only a rising time shows that the peer is alive now, because anyone on the way could repeat
    // an old heartbeat.
    if (heartbeat.agent !== self.agent || heartbeat.at <= lastHeartbeatAt)
      throw misfit("LINK_HEARTBEAT", "a heartbeat that does not go on");
    lastHeartbeatAt = heartbeat.at;
    return { kind: "heartbeat" };
  };

  return {
    receive(frame, nowMs) {
      const kind = frameKind(frame);
      if (phase === "challenge") return challenged(frame, nowMs);
      // Comes instead of a welcome, to an agent whose epoch is over. Only the signer judges this
      // frame.
      if (phase === "welcome" && kind === "recovery") return { kind, frame };
      if (phase === "welcome") return welcomed(frame);
      if (kind === "heartbeat") return heartbeatOf(frame);
      if (kind === "jobs" || kind === "ack" || kind === "sightings")
        return { kind: "frame", envelope: kind, frame };
      throw misfit("LINK_FRAME", "a frame that has no place here");
    },
    heartbeat: (head, nowMs) =>
      sealEnvelope("heartbeat", { agent: self.agent, head, at: nowMs }, keys.linkKey),
  };
}

const upgradeWords =
  "the gateway's program is of an earlier version: on its server, unpack this version and type: node autowithdraw.js upgrade --gateway";

function misfit(
  code:
    | "LINK_UPGRADE_REQUIRED"
    | "LINK_WELCOME_CHALLENGE"
    | "LINK_WELCOME_AGENT"
    | "LINK_HEARTBEAT"
    | "LINK_FRAME",
  message: string,
): AgentError {
  return new AgentError(code, "none", message);
}
