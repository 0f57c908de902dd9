/** The ids that completion offers, each by the command that lists them. */
import type { CompletionCommands } from "./completion.ts";

/** In a pipe, lists have a heading and one record a line, which begins with its id. */
const idsOf = (words: string): string => `${words} 2>/dev/null | cut -d" " -f1 | sed 1d`;
/** Lists of the gateway have no heading. */
const gatewayIdsOf = (words: string): string =>
  `autowithdraw-gateway ${words} 2>/dev/null | cut -d" " -f1`;

export const agentIdCommands: CompletionCommands = {
  show: idsOf("autowithdraw withdrawals --limit 100"),
  approve: "autowithdraw status --held 2>/dev/null",
  refuse: "autowithdraw status --held 2>/dev/null",
  replace: idsOf("autowithdraw withdrawals --open --limit 100"),
  cancel: idsOf("autowithdraw withdrawals --open --limit 100"),
  end: idsOf("autowithdraw withdrawals --open --limit 100"),
};

export const gatewayIdCommands: CompletionCommands = {
  ...Object.fromEntries(
    ["show", "page", "disable", "enable"].map((name) => [
      `merchant ${name}`,
      gatewayIdsOf("merchant list"),
    ]),
  ),
  ...Object.fromEntries(
    ["rotate", "expire", "allow", "revoke"].map((name) => [
      `key ${name}`,
      gatewayIdsOf("key list"),
    ]),
  ),
  ...Object.fromEntries(
    ["test", "rotate", "remove"].map((name) => [
      `callbacks ${name}`,
      gatewayIdsOf("callbacks list"),
    ]),
  ),
  ...Object.fromEntries(
    ["unpair", "recover"].map((name) => [`agents ${name}`, gatewayIdsOf("agents list")]),
  ),
  ...Object.fromEntries(
    ["show", "credit", "note"].map((name) => [
      `deposits ${name}`,
      gatewayIdsOf("deposits list --limit 100"),
    ]),
  ),
  ...Object.fromEntries(
    ["show", "paid", "release", "moved"].map((name) => [
      `withdrawals ${name}`,
      gatewayIdsOf("withdrawals list --limit 100"),
    ]),
  ),
  ...Object.fromEntries(
    ["revoke", "keep"].map((name) => [`deposits ${name}`, gatewayIdsOf("deposits list --reorged")]),
  ),
  "deposits release": gatewayIdsOf("deposits list --held"),
  ...Object.fromEntries(
    ["show", "moved"].map((name) => [`sweeps ${name}`, gatewayIdsOf("sweeps list --limit 100")]),
  ),
  "currencies resume": gatewayIdsOf("currencies"),
};
