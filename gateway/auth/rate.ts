/**
 * Rate limits in memory, by name (a key's id, a caller's address): token buckets, and a counter of failures in a window.
 * Bounded: the names longest unused are forgotten first. Time is passed in. Source: decisions on rate limits in docs/api.md.
 */

/**
 * What a limit answers: `waitMs` is 0 when allowed, else how long until one more would be.
 * @public
 */
export interface Allowance {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly waitMs: number;
}

const namesMax = 10_000;

function remember<Entry>(map: Map<string, Entry>, name: string, entry: Entry): void {
  map.delete(name);
  map.set(name, entry);
  if (map.size <= namesMax) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}

/**
 * A bucket per name, refilled at `perSecond`, holding at most `burst`; `take` uses one when there is one.
 * @public
 */
export function createBuckets(perSecond: number, burst: number): { take(name: string, nowMs: number): Allowance } {
  const buckets = new Map<string, { readonly tokens: number; readonly atMs: number }>();
  return {
    take(name, nowMs) {
      const known = buckets.get(name) ?? { tokens: burst, atMs: nowMs };
      const elapsedMs = Math.max(0, nowMs - known.atMs);
      const tokens = Math.min(burst, known.tokens + (elapsedMs / 1000) * perSecond);
      const allowed = tokens >= 1;
      const left = allowed ? tokens - 1 : tokens;
      remember(buckets, name, { tokens: left, atMs: nowMs });
      const waitMs = allowed ? 0 : Math.ceil(((1 - tokens) / perSecond) * 1000);
      return { allowed, limit: burst, remaining: Math.floor(left), waitMs };
    },
  };
}

/**
 * Counts failures per name in fixed windows; `check` says whether the name may still try, `fail` counts one.
 * @public
 */
export function createFailureCounter(
  failuresMax: number,
  windowMs: number,
): { check(name: string, nowMs: number): Allowance; fail(name: string, nowMs: number): void } {
  const windows = new Map<string, { readonly sinceMs: number; readonly failures: number }>();
  const current = (name: string, nowMs: number): { readonly sinceMs: number; readonly failures: number } => {
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
 * The name an address is counted under: IPv4 whole (also when mapped into IPv6), IPv6 by its /64, which one caller owns whole.
 * @public
 */
export function addressName(ip: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip);
  if (mapped?.[1] !== undefined) return mapped[1];
  const bare = ip.split("%")[0] ?? ip;
  if (!bare.includes(":")) return bare;
  const [left = "", right] = bare.split("::");
  const head = left === "" ? [] : left.split(":");
  const tail = right === undefined || right === "" ? [] : right.split(":");
  const zeros = right === undefined ? [] : new Array<string>(Math.max(0, ipv6Groups - head.length - tail.length)).fill("0");
  return `${[...head, ...zeros, ...tail].slice(0, prefixGroups).join(":")}::/64`;
}
