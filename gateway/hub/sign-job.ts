/**
 * Signs the texts of jobs, each twice: a signature that differs is not sent. An agent checks only
 * the newest job's signature of a list and records all of them; a wrong one could not be taken back
 * by a restored gateway. docs/protocol.md sections 5.2 and 8.1.
 */
import { createPublicKey, type KeyObject } from "node:crypto";
import { invariant } from "../../base/fault.ts";
import { signJob, verifyJobSignature } from "../../protocol/envelope.ts";

/** Returns the gateway's signature of a job's text, 64 bytes as hex. */
export type JobSigner = (text: string) => string;

const probe = "the gateway's keys belong together";

/**
 * `publicKey` is that of `privateKey`, which is shown once, here. Ed25519 gives the same signature
 * for the same text (RFC 8032, section 5.1.6), so a second one that differs shows a fault of the
 * machine, at a third of the price of a verification. Such a signature is never sent.
 */
export function jobSigner(
  privateKey: KeyObject,
  publicKey: KeyObject = createPublicKey(privateKey),
): JobSigner {
  invariant(
    verifyJobSignature(probe, signJob(probe, privateKey), publicKey),
    "the gateway's own signature of a job fits",
  );
  return (text) => {
    const signature = signJob(text, privateKey);
    invariant(signJob(text, privateKey) === signature, "the gateway's own signature of a job fits");
    return signature;
  };
}
