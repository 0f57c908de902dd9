/**
 * Who may speak without TLS to this process: with listen.tls nobody can, else this machine itself and the proxies the operator named.
 */
import { BlockList, isIPv6 } from "node:net";
import type { GatewayConfig } from "../config.ts";

/** Answers for the address at the other end of the socket, which no header can change. */
export function createPeers(config: Pick<GatewayConfig, "listen" | "trustProxy">): {
  mayComePlain(address: string | undefined): boolean;
} {
  const list = new BlockList();
  list.addSubnet("127.0.0.0", 8, "ipv4");
  list.addAddress("::1", "ipv6");
  for (const entry of config.trustProxy) {
    const [address = "", bits] = entry.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return {
    mayComePlain(address) {
      if (config.listen.tls !== null) return true;
      if (address === undefined) return false;
      return list.check(address, isIPv6(address) ? "ipv6" : "ipv4");
    },
  };
}
