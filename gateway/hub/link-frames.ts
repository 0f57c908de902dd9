/**
 * The welcome of an agent, and the frames of one whose hello was accepted: each is verified under
 * the key of its kind, read, and belongs to this agent and epoch. Source: docs/protocol.md sections
 * 2 and 4.1.
 */
import { frameKind, gatewayFrameBytesMax, openEnvelope } from "../../protocol/envelope.ts";
import { zeroHash } from "../../protocol/identity.ts";
import {
  type Challenge,
  type Heartbeat,
  type Hello,
  type Jobs,
  kindsKnown,
  type Statement,
  type Welcome,
} from "../../protocol/messages.ts";
import { parseHeartbeat, parseStatement } from "../../protocol/payloads.ts";
import { parseQuestion, type Question } from "../../protocol/sightings.ts";
import type { AgentRow } from "../store/rows.ts";
import type { CloseReason } from "./link-limits.ts";
import type { PendingJob } from "./outbox.ts";
import type { LiveAgent } from "./session-rooms.ts";
import type { JobSigner } from "./sign-job.ts";
import { headOf } from "./standing.ts";

type AgentFrame =
  | { readonly kind: "statement"; readonly message: Statement }
  | { readonly kind: "heartbeat"; readonly message: Heartbeat }
  | { readonly kind: "question"; readonly message: Question };

const kinds = ["statement", "heartbeat", "question"] as const;

/**
 * The message of a frame, or the reason to end the link.
 * @throws AgentError ENVELOPE_*, JSON_*
 */
export function readFrame(live: LiveAgent, frame: Uint8Array): AgentFrame | CloseReason {
  const publicKey = frameKind(frame) === "statement" ? live.signerKey : live.linkKey;
  const { kind, payload } = openEnvelope(frame, {
    kinds,
    publicKey,
    bytesMax: gatewayFrameBytesMax,
  });
  if (kind === "heartbeat") {
    const message = parseHeartbeat(payload);
    return message.agent === live.id ? { kind, message } : "protocol";
  }
  const read: AgentFrame =
    kind === "question"
      ? { kind, message: parseQuestion(payload) }
      : { kind: "statement", message: parseStatement(payload) };
  if (read.message.agent !== live.id) return "protocol";
  return read.message.ledgerEpoch === live.ledgerEpoch ? read : "ledgerEpoch";
}

/** The welcome for the agent's run that gave `answers`, with what this database holds of it. */
export function welcomeOf(
  agent: AgentRow,
  answers: string,
  challenge: string,
  at: number,
): Welcome {
  return {
    agent: agent.id,
    wallet: agent.wallet,
    ledgerEpoch: agent.ledgerEpoch,
    challenge,
    answers,
    gatewayHead: headOf(agent),
    jobs: { sequence: agent.jobSequence, hash: agent.jobSequence === 0 ? zeroHash : agent.jobHash },
    at,
  };
}

/** An envelope of jobs, each under the gateway's own signature. */
export function jobsOf(
  agent: Pick<AgentRow, "id" | "wallet" | "headSeq" | "headHash">,
  ledgerEpoch: number,
  batch: readonly PendingJob[],
  sign: JobSigner,
  at: number,
): Jobs {
  return {
    agent: agent.id,
    wallet: agent.wallet,
    ledgerEpoch,
    gatewayHead: headOf(agent),
    at,
    jobs: batch.map((job) => job.text),
    signatures: batch.map((job) => sign(job.text)),
  };
}

/** A program that names no kinds refuses a challenge with a field that it does not know. */
export function challengeOf(nonce: string, isNaming: boolean, at: number): Challenge {
  return isNaming ? { nonce, kinds: kindsKnown, at } : { nonce, at };
}

/** True for the hello of an agent whose program knows fewer kinds than this one. */
export function isOutdated({ kinds = 0 }: Hello): boolean {
  return kinds < kindsKnown;
}
