/**
 * The messages of one connection, without its bytes: challenge, hello, welcome, then jobs, acks and
 * heartbeats, until a message does not fit. Synchronous, with clock and keys passed in; `link.ts`
 * owns the socket. docs/protocol.md sections 2 and 4. The signer verifies jobs and acks itself and
 * trusts no other check. A second check here would double the most expensive step of a job.
 */
import type { KeyObject } from "node:crypto";
import { AgentError } from "../../../base/fault.ts";
import { agentFrameBytesMax, frameKind, openEnvelope, sealEnvelope } from "../../../protocol/envelope.ts";
import type { EnvelopeKind, Head, OpenSlots } from "../../../protocol/messages.ts";
import { parseBeat, parseChallenge, parseWelcome } from "../../../protocol/payloads.ts";

/** The agent for which the link speaks, as the signer's own `hello` gives it. */
export interface LinkSelf {
  readonly agent: string;
  readonly wallet: string;
  readonly epoch: number;
  readonly nonce: string; // nonce of the signer's run; the welcome must repeat it
}

export interface SessionKeys {
  readonly gatewayKey: KeyObject; // pinned at pairing
  readonly linkKey: KeyObject; // private
}

/** The contents of a hello in addition to its sender. */
interface Said {
  readonly software: string;
  readonly open: () => readonly OpenSlots[];
}

/** The result of a frame. `welcome` and `frame` carry the complete envelope, for the signer. */
export type Heard =
  | { readonly kind: "reply"; readonly frame: Uint8Array }
  | { readonly kind: "welcome"; readonly frame: Uint8Array }
  | { readonly kind: "recovery"; readonly frame: Uint8Array }
  | { readonly kind: "frame"; readonly envelope: "jobs" | "ack"; readonly frame: Uint8Array }
  | { readonly kind: "beat" };

export interface Session {
  /** @throws AgentError LINK_* or ENVELOPE_* or JSON_*; then the connection must be closed. */
  hear(frame: Uint8Array, nowMs: number): Heard;
  beat(head: Head | null, nowMs: number): Uint8Array;
}

export function createSession(self: LinkSelf, keys: SessionKeys, said: Said): Session {
  let phase: "challenge" | "welcome" | "open" = "challenge";
  let lastBeatAt = -1;

  const open = (frame: Uint8Array, kind: EnvelopeKind): Uint8Array =>
    openEnvelope(frame, { kind, publicKey: keys.gatewayKey, bytesMax: agentFrameBytesMax }).payload;

  const challenged = (frame: Uint8Array, nowMs: number): Heard => {
    const challenge = parseChallenge(open(frame, "challenge"));
    const { agent, epoch, nonce } = self;
    const hello = { agent, epoch, answers: challenge.nonce, nonce, software: said.software, open: said.open(), at: nowMs };
    phase = "welcome";
    return { kind: "reply", frame: sealEnvelope("hello", hello, keys.linkKey) };
  };

  const welcomed = (frame: Uint8Array): Heard => {
    const welcome = parseWelcome(open(frame, "welcome"));
    if (welcome.answers !== self.nonce) throw misfit("LINK_WELCOME_CHALLENGE", "the welcome answers another run's nonce");
    if (welcome.agent !== self.agent || welcome.wallet !== self.wallet) {
      throw misfit("LINK_WELCOME_AGENT", "the welcome is for another agent or wallet");
    }
    phase = "open";
    return { kind: "welcome", frame };
  };

  const beaten = (frame: Uint8Array): Heard => {
    const beat = parseBeat(open(frame, "beat"));
    // Only a rising time shows that the peer is alive now, because anyone on the way could repeat
    // an old heartbeat.
    if (beat.agent !== self.agent || beat.at <= lastBeatAt) throw misfit("LINK_BEAT", "a heartbeat that does not go on");
    lastBeatAt = beat.at;
    return { kind: "beat" };
  };

  return {
    hear(frame, nowMs) {
      const kind = frameKind(frame);
      if (phase === "challenge") return challenged(frame, nowMs);
      // Comes instead of a welcome, to an agent whose epoch is over. Only the signer judges this
      // frame.
      if (phase === "welcome" && kind === "recovery") return { kind, frame };
      if (phase === "welcome") return welcomed(frame);
      if (kind === "beat") return beaten(frame);
      if (kind === "jobs" || kind === "ack") return { kind: "frame", envelope: kind, frame };
      throw misfit("LINK_FRAME", "a frame that has no place here");
    },
    beat: (head, nowMs) => sealEnvelope("beat", { agent: self.agent, head, at: nowMs }, keys.linkKey),
  };
}

function misfit(code: "LINK_WELCOME_CHALLENGE" | "LINK_WELCOME_AGENT" | "LINK_BEAT" | "LINK_FRAME", message: string): AgentError {
  return new AgentError(code, "none", message);
}
