/**
 * Who is at the other end of a socket: a proxy the operator named or not, and whether it may speak
 * without TLS to this process: with listen.tls nobody can, else this machine itself and the named
 * proxies.
 */
import { addressList } from "../address-list.ts";
import type { GatewayConfig } from "../config.ts";

/** Answers for the address at the other end of the socket, which no header can change. */
export function createPeers(config: Pick<GatewayConfig, "listen" | "trustProxy">): {
  mayComePlain(address: string | undefined): boolean;
  isNamedProxy(address: string | undefined): boolean;
} {
  const isNamedProxy = addressList(config.trustProxy);
  const isHere = addressList(["127.0.0.0/8", "::1"]);
  return {
    mayComePlain: (address) => config.listen.tls !== null || isHere(address) || isNamedProxy(address),
    isNamedProxy,
  };
}
