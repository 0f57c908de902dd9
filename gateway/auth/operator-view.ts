/**
 * The proof by which the operator's own commands ask the running gateway for the whole of `/ready`.
 * Only who reads the gateway's key file can make it. An address proves nothing: behind a proxy on
 * the same machine everybody comes from there. A proof is good for one run of the gateway.
 * Sources: RFC 5869 (HKDF); docs/gateway.md.
 */
import { hkdfSync, timingSafeEqual } from "node:crypto";
import type { GatewayKey } from "./gateway-key.ts";

export const operatorHeader = "operator-proof";

const proofBytes = 32;

/** `run` names the process that is asked (store/owner.ts). */
export function operatorProof({ sealingKey }: Pick<GatewayKey, "sealingKey">, run: string): string {
  return Buffer.from(
    hkdfSync("sha256", sealingKey, run, "autowithdraw/1 operator view", proofBytes),
  ).toString("hex");
}

/** True if a request's header is the proof for this run. */
export function isOperatorProof(
  header: unknown,
  key: Pick<GatewayKey, "sealingKey">,
  run: string,
): boolean {
  if (typeof header !== "string") return false;
  const [shown, wanted] = [Buffer.from(header), Buffer.from(operatorProof(key, run))];
  return shown.length === wanted.length && timingSafeEqual(shown, wanted);
}
