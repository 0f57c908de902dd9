/**
 * Signs the texts of jobs, and checks each signature before it is sent. An agent checks only the
 * newest job's signature of a list and records all of them; a wrong one could not be taken back by
 * a restored gateway. docs/protocol.md sections 5.2 and 8.1.
 */
import { createPublicKey, type KeyObject } from "node:crypto";
import { invariant } from "../../base/fault.ts";
import { isJobSignature, signJob } from "../../protocol/envelope.ts";

/** Returns the gateway's signature of a job's text, 64 bytes as hex. */
export type JobSigner = (text: string) => string;

/** `publicKey` is that of `privateKey`. A signature that does not fit is a bug, and never sent. */
export function jobSigner(
  privateKey: KeyObject,
  publicKey: KeyObject = createPublicKey(privateKey),
): JobSigner {
  return (text) => {
    const signature = signJob(text, privateKey);
    invariant(
      isJobSignature(text, signature, publicKey),
      "the gateway's own signature of a job fits",
    );
    return signature;
  };
}
