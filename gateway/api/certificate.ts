/**
 * The certificate of `listen.tls`, and its renewal while the gateway runs. A pair is tested before
 * it is used, and a pair that cannot be used changes nothing.
 */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Server } from "node:https";
import { createSecureContext } from "node:tls";
import { AgentError, reasonOf } from "../../base/fault.ts";
import type { GatewayConfig } from "../config/config.ts";

/** A certificate with its key, as TLS takes them. */
export interface TlsPair {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly minVersion: "TLSv1.2";
}

/** The certificate that is served now. */
export interface ServedCertificate {
  /** When it ends, Unix milliseconds; null without `listen.tls`. */
  endsAtMs(): number | null;
  /**
   * Reads certificate and key again, and serves them to new connections.
   * @returns the end of the new certificate; null if the files are those that are served
   * @throws AgentError GATEWAY_TLS; the old certificate is served on
   */
  renew(): number | null;
}

type Tls = NonNullable<GatewayConfig["listen"]["tls"]>;

/** @throws AgentError GATEWAY_TLS */
export function readPair(tls: Tls): TlsPair {
  try {
    const pair = {
      cert: readFileSync(tls.certificate),
      key: readFileSync(tls.key),
      minVersion: "TLSv1.2",
    } as const;
    createSecureContext(pair); // tests now that certificate and key fit
    return pair;
  } catch (cause) {
    const message = `certificate ${tls.certificate} and key ${tls.key} of listen.tls cannot be used: ${reasonOf(cause)}`;
    throw new AgentError("GATEWAY_TLS", "none", message, { ...tls }, { cause });
  }
}

const endOf = ({ cert }: TlsPair): number => Date.parse(new X509Certificate(cert).validTo);

/** `server` is the listener that began with this pair. */
export function createServedCertificate(
  server: Pick<Server, "setSecureContext">,
  tls: Tls | null,
): ServedCertificate {
  if (tls === null) return { endsAtMs: () => null, renew: () => null };
  let served = readPair(tls);
  return {
    endsAtMs: () => endOf(served),
    renew() {
      const next = readPair(tls);
      if (next.cert.equals(served.cert) && next.key.equals(served.key)) return null;
      server.setSecureContext(next);
      served = next;
      return endOf(next);
    },
  };
}
