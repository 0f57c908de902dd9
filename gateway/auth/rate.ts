/**
 * Rate limits in memory, by name (a key's id, a client's address): token buckets, and a counter of
 * failures in a window. Bounded: the names that were unused the longest are forgotten first. Time
 * is passed in. Source: docs/api.md, Limits.
 */

/**
 * The answer of a limit: `waitMs` is 0 if allowed, else the time until one more would be allowed.
 */
export interface Allowance {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly waitMs: number;
}

const namesMax = 10_000;
const creditsPerToken = 1000;

function remember<Entry>(map: Map<string, Entry>, name: string, entry: Entry): void {
  map.delete(name);
  map.set(name, entry);
  if (map.size <= namesMax) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}

/**
 * A bucket for each name, refilled at `perSecond`, with at most `burst`. `take` uses one if the
 * bucket is not empty. `owe` takes `count` even from an empty bucket; then nothing is allowed until
 * the bucket has refilled.
 */
export function createRateBuckets(
  perSecond: number,
  burst: number,
): {
  take(name: string, nowMs: number): Allowance;
  owe(name: string, count: number, nowMs: number): Allowance;
} {
  // A token is a thousand credits, so that rates and milliseconds in integers never round.
  const buckets = new Map<string, { readonly credits: number; readonly atMs: number }>();
  const full = burst * creditsPerToken;
  const creditsOf = (name: string, nowMs: number): number => {
    const known = buckets.get(name) ?? { credits: full, atMs: nowMs };
    return Math.min(full, known.credits + Math.max(0, nowMs - known.atMs) * perSecond);
  };
  return {
    take(name, nowMs) {
      const credits = creditsOf(name, nowMs);
      const allowed = credits >= creditsPerToken;
      const left = allowed ? credits - creditsPerToken : credits;
      remember(buckets, name, { credits: left, atMs: nowMs });
      const waitMs = allowed ? 0 : Math.ceil((creditsPerToken - credits) / perSecond);
      return {
        allowed,
        limit: burst,
        remaining: Math.max(0, Math.floor(left / creditsPerToken)),
        waitMs,
      };
    },
    owe(name, count, nowMs) {
      const left = creditsOf(name, nowMs) - count * creditsPerToken;
      remember(buckets, name, { credits: left, atMs: nowMs });
      const waitMs = left >= creditsPerToken ? 0 : Math.ceil((creditsPerToken - left) / perSecond);
      return {
        allowed: waitMs === 0,
        limit: burst,
        remaining: Math.max(0, Math.floor(left / creditsPerToken)),
        waitMs,
      };
    },
  };
}

/**
 * Counts failures by name in fixed windows. `check` says if the name may still try; `fail` counts
 * one.
 */
export function createFailureCounter(
  failuresMax: number,
  windowMs: number,
): { check(name: string, nowMs: number): Allowance; fail(name: string, nowMs: number): void } {
  const windows = new Map<string, { readonly sinceMs: number; readonly failures: number }>();
  const current = (
    name: string,
    nowMs: number,
  ): { readonly sinceMs: number; readonly failures: number } => {
    const known = windows.get(name);
    return known === undefined || nowMs - known.sinceMs >= windowMs || nowMs < known.sinceMs
      ? { sinceMs: nowMs, failures: 0 }
      : known;
  };
  return {
    check(name, nowMs) {
      const { sinceMs, failures } = current(name, nowMs);
      const allowed = failures < failuresMax;
      return {
        allowed,
        limit: failuresMax,
        remaining: Math.max(0, failuresMax - failures),
        waitMs: allowed ? 0 : sinceMs + windowMs - nowMs,
      };
    },
    fail(name, nowMs) {
      const { sinceMs, failures } = current(name, nowMs);
      remember(windows, name, { sinceMs, failures: failures + 1 });
    },
  };
}

const ipv6Groups = 8;
const prefixGroups = 4;

/**
 * The block under which an address is counted: the full IPv4 address (also if mapped into IPv6), or
 * the /64 of IPv6. A /64 is given to one line or one server, whose owner has all of it. An IPv4 /24
 * has many owners, and one could lock the others out.
 */
export function addressBlock(ip: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip);
  if (mapped?.[1] !== undefined) return mapped[1];
  const bare = ip.split("%")[0] ?? ip;
  if (!bare.includes(":")) return bare;
  const [left = "", right] = bare.split("::");
  const head = left === "" ? [] : left.split(":");
  const tail = right === undefined || right === "" ? [] : right.split(":");
  const zeros =
    right === undefined
      ? []
      : new Array<string>(Math.max(0, ipv6Groups - head.length - tail.length)).fill("0");
  return `${[...head, ...zeros, ...tail].slice(0, prefixGroups).join(":")}::/64`;
}

/**
 * The network of an address: the /24 of IPv4, the /64 of IPv6. A count by network costs nobody
 * his access, for example the place of a connection that has sent nothing.
 */
export function networkBlock(ip: string): string {
  const block = addressBlock(ip);
  return block.includes(":") ? block : `${block.split(".").slice(0, 3).join(".")}.0/24`;
}
