/**
 * The address of the client that sent a request: the address of the socket, or behind a trusted
 * proxy the last entry of X-Forwarded-For, which the proxy appended. Entries further left were
 * written by the client and are never used. API, rates, allow lists, logs and the hub all read
 * addresses here.
 */
import type { IncomingMessage } from "node:http";
import { createAddressTest, readAddress } from "./address-list.ts";

/**
 * `unreadable` is the entry of a trusted proxy that is no address; "" without one. The request then
 * counts as the proxy's own.
 */
export interface ClientAddress {
  readonly address: string;
  readonly unreadable: string;
}

const entriesMax = 64;
const shownMax = 64;

/**
 * Returns a function from a request to its client's address. `trusted` has addresses and networks
 * such as 10.0.0.0/8.
 */
export function createClientAddressReader(
  trusted: readonly string[],
): (request: IncomingMessage) => ClientAddress {
  const isProxy = createAddressTest(trusted);
  return (request) => {
    const remote = request.socket.remoteAddress ?? "";
    let address = readAddress(remote) ?? remote;
    if (!isProxy(address)) return { address, unreadable: "" };
    const entries = [request.headers["x-forwarded-for"] ?? []]
      .flat()
      .join(",")
      .split(",")
      .slice(-entriesMax)
      .reverse();
    for (const entry of entries) {
      if (!isProxy(address) || entry.trim() === "") break;
      const read = readAddress(entry);
      if (read === null) return { address, unreadable: entry.trim().slice(0, shownMax) };
      address = read;
    }
    return { address, unreadable: "" };
  };
}
