/**
 * Where a connection comes from: its own address, or behind a trusted proxy the one the proxy
 * appended last. What a client wrote into the header itself stands further left and is never
 * believed.
 */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { addressList } from "../address-list.ts";

/**
 * A function from a request to its client's address; `trusted` holds addresses and networks such as
 * 10.0.0.0/8.
 */
export function addressReader(trusted: readonly string[]): (request: IncomingMessage) => string {
  const isProxy = addressList(trusted);
  return (request) => {
    let address = plain(request.socket.remoteAddress ?? "");
    const forwarded = [request.headers["x-forwarded-for"] ?? []].flat().join(",").split(",").reverse();
    for (const hop of forwarded) {
      if (!isProxy(address) || isIP(hop.trim()) === 0) break;
      address = plain(hop.trim());
    }
    return address;
  };
}

/** IPv4 inside IPv6 (RFC 4291 section 2.5.5.2) counts as the IPv4 address it is. */
function plain(address: string): string {
  return address.startsWith("::ffff:") && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}
