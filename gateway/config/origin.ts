/**
 * Origins of a merchant's own sites, which may embed the payment page and take the customer back:
 * https, or plain http on this machine for development. Source: RFC 6454.
 */
import { isLoopback } from "../../base/loopback.ts";

/** The origin of an address, as a browser spells it; null for any other address. */
export function originOf(address: string): string | null {
  if (!URL.canParse(address)) return null;
  const { protocol, hostname, origin } = new URL(address);
  const isSite = protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
  return isSite && /^[a-z]+:\/\/[a-z0-9.:[\]-]+$/.test(origin) ? origin : null;
}

/** `origins` is a merchant's list, joined by spaces. */
export function isAllowedOrigin(origins: string, address: string): boolean {
  const origin = originOf(address);
  return origin !== null && origins.split(" ").includes(origin);
}
