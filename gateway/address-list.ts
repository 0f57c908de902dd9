/**
 * Addresses and networks as the configuration names them (10.0.0.0/8, 2001:db8::1), to be asked
 * whether one of them is meant.
 */
import { BlockList, isIP } from "node:net";

/**
 * A question to a list; the answer is no for whatever is not an IP address. IPv4 inside IPv6 counts
 * as the IPv4 address it is.
 * @public
 */
export function addressList(entries: readonly string[]): (address: string | undefined) => boolean {
  const familyOf = (address: string) => (isIP(address) === 6 ? "ipv6" : "ipv4");
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", bits] = entry.split("/");
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return (address = "") => isIP(address) !== 0 && list.check(address, familyOf(address));
}

/**
 * Whether a text is an IP address, or a network as an address with its bits (192.0.2.0/24).
 * @public
 */
export function isAddressOrNetwork(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const widest = isIP(address) === 6 ? 128 : 32;
  const fits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= widest);
  return isIP(address) !== 0 && !address.includes("%") && fits && rest.length === 0;
}
