/**
 * IP addresses: one reader for every form that sockets and proxies write, and lists of addresses
 * and networks for the configuration (10.0.0.0/8, 2001:db8::1).
 */
import { BlockList, isIP } from "node:net";
import { settings } from "../../base/settings.ts";
import type { Reader } from "../../base/shape.ts";

/** More than the longest form, which is "[full IPv6 with IPv4 tail%zone]:65535" in quotes. */
const writtenMax = 128;
const networkCharactersMax = 64;

/**
 * Returns the bare IP address in a text. Accepts an address, an address with a port (192.0.2.1:443,
 * [2001:db8::1]:443), in brackets, in quotes, or with a zone (fe80::1%eth0), which is left out.
 * IPv4 inside IPv6 (RFC 4291 section 2.5.5.2) counts as the IPv4 address. Null for any other text,
 * such as "unknown" and names. Sources: RFC 7239 section 6; RFC 3986 section 3.2.2.
 */
export function readAddress(text: string): string | null {
  if (text.length > writtenMax) return null;
  const bare = /^\s*"?(.*?)"?\s*$/.exec(text)?.[1] ?? "";
  const host =
    /^\[([^\]]*)\](?::\d{1,5})?$/.exec(bare)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(bare)?.[1] ?? bare;
  const address = host.replace(/%[\w.~-]*$/, "");
  if (isIP(address) === 0) return null;
  return unmapped(address.toLowerCase());
}

function unmapped(address: string): string {
  if (!address.includes(":")) return address;
  const dotted = /^(?:0{0,4}:){2,5}ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1];
  if (dotted !== undefined) return dotted;
  const hex = /^(?:0{0,4}:){2,5}ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(address);
  if (hex === null) return address;
  const [high, low] = [
    Number.parseInt(hex[1] as string, 16),
    Number.parseInt(hex[2] as string, 16),
  ];
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/**
 * Returns a test of membership in a list; false for a text that is not an IP address. IPv4 inside
 * IPv6 counts as the IPv4 address.
 */
export function createAddressTest(
  entries: readonly string[],
): (address: string | undefined) => boolean {
  const familyOf = (address: string) => (isIP(address) === 6 ? "ipv6" : "ipv4");
  if (entries.length === 0) return () => false;
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", bits] = entry.split("/");
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  // Many requests in a row come from one proxy.
  let newest = { address: "", isIn: false };
  return (address = "") => {
    if (address !== newest.address)
      newest = { address, isIn: isIP(address) !== 0 && list.check(address, familyOf(address)) };
    return newest.isIn;
  };
}

/** True if a text is an IP address, or a network: an address with its bits (192.0.2.0/24). */
export function isAddressOrNetwork(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const widest = isIP(address) === 6 ? 128 : 32;
  const fits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= widest);
  return isIP(address) !== 0 && !address.includes("%") && fits && rest.length === 0;
}

/** The most entries of a list. */
export const networksMax = 64;

/** Reads an IP address or a network. @throws AgentError CONFIG_TYPE, CONFIG_VALUE */
export const readNetwork: Reader<string> = (value, path) => {
  const text = settings.string({ min: 2, max: networkCharactersMax })(value, path);
  if (!isAddressOrNetwork(text))
    throw settings.valueFault(path, "must be an IP address or network");
  return text;
};
