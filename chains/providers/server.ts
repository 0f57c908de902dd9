/**
 * One server of a chain as its operator describes it: the address, further headers, and the most
 * questions in an hour. Pure.
 */
import type { ServerLines } from "../family.ts";
import { FurtherHeaders, type ReadSecretFile } from "./further-headers.ts";
import { HourCount } from "./hour-count.ts";
import type { NodeAddress } from "./rpc-post.ts";

export type Server = Extract<NodeAddress, object> & { readonly hour: HourCount | null };

/** An address alone stands for a server without further lines. */
export type ServerAddress = string | Server;

export interface ServerOptions {
  readonly readSecretFile: ReadSecretFile;
  readonly clock: () => number; // milliseconds, never running back
}

/** Reads nothing yet. */
export function serverOf(
  url: string,
  { headersFile, questionsPerHour }: ServerLines,
  { readSecretFile, clock }: ServerOptions,
): ServerAddress {
  if (headersFile === undefined && questionsPerHour === undefined) return url;
  const further =
    headersFile === undefined ? null : new FurtherHeaders(headersFile, readSecretFile, clock);
  return {
    url,
    headers: further === null ? null : () => further.lines(),
    hour: questionsPerHour === undefined ? null : new HourCount(questionsPerHour),
  };
}

export function hourCountOf(address: ServerAddress | undefined): HourCount | null {
  return typeof address === "object" ? address.hour : null;
}
