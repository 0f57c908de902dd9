/**
 * The code of a place at which nothing can listen, for the start and for `check`. Another process
 * that has the port, an address that is not this machine's yet and a name without an address pass
 * by themselves; a missing right does not. Sources: bind(2), getaddrinfo(3).
 */
import type { Code } from "../../base/codes.ts";
import { reasonOf } from "../../base/fault.ts";

const codesOfReasons: Readonly<Record<string, Code>> = {
  EADDRINUSE: "GATEWAY_LISTEN_TAKEN",
  EADDRNOTAVAIL: "GATEWAY_LISTEN_TAKEN",
  EAI_AGAIN: "GATEWAY_LISTEN_NAME",
  ENOTFOUND: "GATEWAY_LISTEN_NAME",
};

export function listenFault(cause: unknown): { readonly code: Code; readonly reason: string } {
  const reason = reasonOf(cause);
  return { code: codesOfReasons[reason] ?? "GATEWAY_LISTEN", reason };
}
