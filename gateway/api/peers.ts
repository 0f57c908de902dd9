/**
 * Checks the address at the other end of a socket: whether it is a proxy that the operator named,
 * and whether it may connect without TLS. With listen.tls no connection comes without TLS.
 * Otherwise only this machine and the named proxies may.
 */
import { addressList } from "../config/address-list.ts";
import type { GatewayConfig } from "../config/config.ts";

/** The checks use the address at the other end of the socket, which no header can change. */
export interface Peers {
  mayComePlain(address: string | undefined): boolean;
  isNamedProxy(address: string | undefined): boolean;
  /** True for an address of this machine. */
  isHere(address: string | undefined): boolean;
}

export function createPeers(config: Pick<GatewayConfig, "listen" | "trustProxy">): Peers {
  const isNamedProxy = addressList(config.trustProxy);
  const isHere = addressList(["127.0.0.0/8", "::1"]);
  return {
    mayComePlain: (address) =>
      config.listen.tls !== null || isHere(address) || isNamedProxy(address),
    isNamedProxy,
    isHere,
  };
}
