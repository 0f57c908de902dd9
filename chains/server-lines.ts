/**
 * Further lines of the servers in a configuration, by address, and the public figures of presets.
 * Pure.
 */
import type { ConfiguredChain, ServerLines } from "./family.ts";
import { presetOf } from "./final-times.ts";

/** A node as a configuration writes it. */
export interface NodeLines extends ServerLines {
  readonly url: string;
}

/** The lines by address; nothing if no node has any. */
export function serverLinesByAddress(
  nodes: readonly NodeLines[],
): Pick<ConfiguredChain, "servers"> {
  const servers = nodes.flatMap(({ url, ...lines }) =>
    Object.keys(lines).length === 0 ? [] : [[url, lines] as const],
  );
  return servers.length === 0 ? {} : { servers: Object.fromEntries(servers) };
}

/** Bounds of `questionsPerHour`. */
export const questionsPerHourMin = 60;
export const questionsPerHourMax = 10_000_000;

/**
 * The lines of one server. Without a figure of the configuration, the public one of the preset
 * counts for an address of that host without a user, key or password.
 */
export function serverLinesOf(
  chain: Pick<ConfiguredChain, "family" | "chainId" | "servers">,
  url: string,
): ServerLines {
  const lines = chain.servers?.[url] ?? {};
  if (lines.questionsPerHour !== undefined || lines.headersFile !== undefined) return lines;
  const { hostname, username, password } = new URL(url);
  const known =
    username === "" && password === "" ? presetOf(chain)?.publicServers?.[hostname] : undefined;
  return known === undefined ? lines : { ...lines, questionsPerHour: known.questionsPerHour };
}
