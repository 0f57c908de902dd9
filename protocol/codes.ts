/**
 * Every code of a refusal or fault, in one frozen table: [kind, effect, who sees it, meaning, what the operator does].
 * The same table stands in docs/errors.md, and a test compares both ways. Codes never change meaning and are never reused.
 */

type Row = readonly ["refusal" | "fault" | "alarm", "none" | "done" | "unknown", "merchant" | "operator" | "log", string, string];

/** @public */
export const codes = {
  // json, amounts, envelopes (protocol)
  // addresses and transactions (chains)
  // nodes (chains)
  // policy
  // admission, ledger, keystore, vault, sockets (signer)
  // link, desk (courier)
  // config, pairing, commands (cli)
  // gateway
} as const satisfies Record<string, Row>;

/** @public */
export type Code = keyof typeof codes;
