/**
 * The gateway's signature of a job: made by its own key, and checked before it is sent.
 */
import { generateKeyPairSync } from "node:crypto";
import { expect, it } from "vitest";
import { jobSigner } from "../../gateway/hub/sign-job.ts";
import { verifyJobSignature } from "../../protocol/envelope.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");

it("the signature of a job fits its text, and no other text", () => {
  const signature = jobSigner(privateKey)("{}");
  expect(verifyJobSignature("{}", signature, publicKey)).toBe(true);
  expect(verifyJobSignature("{ }", signature, publicKey)).toBe(false);
});

it("keys that do not belong together sign no job", () => {
  const other = generateKeyPairSync("ed25519").publicKey;
  expect(() => jobSigner(privateKey, other)).toThrow("the gateway's own signature of a job fits");
  expect(jobSigner(privateKey, publicKey)("{}")).toHaveLength(128);
});
