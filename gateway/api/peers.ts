/**
 * Who is at the other end of a socket: a proxy the operator named or not, and whether it may speak without TLS to this process: with
 * listen.tls nobody can, else this machine itself and the named proxies.
 */
import { BlockList, isIPv6 } from "node:net";
import type { GatewayConfig } from "../config.ts";

function listOf(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", bits] = entry.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/** Answers for the address at the other end of the socket, which no header can change. */
export function createPeers(config: Pick<GatewayConfig, "listen" | "trustProxy">): {
  mayComePlain(address: string | undefined): boolean;
  isNamedProxy(address: string | undefined): boolean;
} {
  const named = listOf(config.trustProxy);
  const plain = listOf([...config.trustProxy, "127.0.0.0/8", "::1"]);
  const holds = (list: BlockList, address: string | undefined): boolean =>
    address !== undefined && list.check(address, isIPv6(address) ? "ipv6" : "ipv4");
  return {
    mayComePlain: (address) => config.listen.tls !== null || holds(plain, address),
    isNamedProxy: (address) => holds(named, address),
  };
}
