/**
 * Decides where a callback may go: pure. A merchant chooses the address, so it must not lead the
 * gateway to its own machine, its network or a cloud's metadata. The URL is checked when a target
 * is added, and each address of its name when a callback is sent. Sources: IANA IPv4 and IPv6
 * Special-Purpose Address Registries (RFC 6890); WHATWG URL (which spellings are one address).
 */
import { BlockList, isIP } from "node:net";
import { isLoopback } from "../../base/loopback.ts";
import type { CallbackSettings } from "../config/callback-settings.ts";

/** Settings of the guard. */
export type GuardSettings = Pick<CallbackSettings, "allowLoopback" | "allowNetworks">;

const urlCharactersMax = 2_048;
const lowPortMax = 1_023;
const webPorts: ReadonlySet<number> = new Set([443]);

/**
 * Every IPv4 block that is not for public hosts, and the one public address where a cloud answers
 * metadata.
 */
const closed4 = [
  ...[
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
  ],
  ...[
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
  ],
  ...[
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "168.63.129.16/32",
  ],
];
/**
 * Only global unicast of IPv6 is open, without the blocks that wrap or document other addresses.
 */
const open6 = ["2000::/3"];
const closed6 = ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"];

function blocks(networks: readonly string[]): BlockList {
  const made = new BlockList();
  for (const network of networks) {
    const [address = "", bits = isIP(address) === 6 ? "128" : "32"] = network.split("/");
    made.addSubnet(address, Number(bits), isIP(address) === 6 ? "ipv6" : "ipv4");
  }
  return made;
}

const closed = { ipv4: blocks(closed4), ipv6: blocks(closed6) };
const open = blocks(open6);
const loopback = blocks(["127.0.0.0/8", "::1/128"]);

/** True if a callback may be sent to this IP address; false for a text that is no address. */
export function mayReachAddress(
  address: string,
  { allowLoopback, allowNetworks }: GuardSettings,
): boolean {
  const version = isIP(address);
  if (version === 0 || address.includes("%")) return false;
  const family = version === 6 ? "ipv6" : "ipv4";
  if (allowLoopback && loopback.check(address, family)) return true;
  // Each list is used only for its own family, because a mapped address must not pass through
  // another family's rule.
  const allowed = allowNetworks.filter((network) => isIP(network.split("/")[0] ?? "") === version);
  if (allowed.length > 0 && blocks(allowed).check(address, family)) return true;
  return family === "ipv4"
    ? !closed.ipv4.check(address, family)
    : open.check(address, family) && !closed.ipv6.check(address, family);
}

/** The host of a URL as a name or a bare IP address. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "");
}

/**
 * The reason why no target can have this URL; "" if there is none. An address that only the name's
 * look-up shows is checked when a callback is sent.
 */
export function urlProblem(text: string, settings: GuardSettings): string {
  if (text.length > urlCharactersMax) return `must have at most ${urlCharactersMax} characters`;
  if (!/^[\x21-\x7e]+$/.test(text)) return "must be plain ASCII without spaces";
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return "is no URL";
  }
  const host = hostOf(url);
  const isLocal = settings.allowLoopback && isLoopback(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLocal))
    return "must begin with https://";
  if (url.username !== "" || url.password !== "") return "must have no user name";
  if (url.hash !== "") return "must have no #";
  const port = Number(url.port);
  if (url.port !== "" && port <= lowPortMax && !webPorts.has(port))
    return "must use port 443, or one above 1023";
  if (isIP(host) !== 0)
    return mayReachAddress(host, settings) ? "" : "leads to an address that is not public";
  if (
    !isLocal &&
    (!host.includes(".") || /(?:^|\.)(?:localhost|local|internal|home\.arpa|onion)\.?$/.test(host))
  )
    return "leads to a name that is not public";
  return "";
}

/** Why a name gave no address to send to, in the operator's words. */
export const nameLookupFaults = {
  missing: "there is no such name",
  empty: "the name has no address",
  closed: "the name leads to an address that is not public",
} as const;

const namelessForKey = "the name leads to no public address";

/**
 * A try's reason as a merchant's key reads it. The three above are one, because a key could
 * otherwise ask the gateway's name servers which names the gateway's own network has.
 */
export function hideNameFaultsFromMerchant(reason: string): string {
  const faults: readonly string[] = Object.values(nameLookupFaults);
  return faults.includes(reason) ? namelessForKey : reason;
}
