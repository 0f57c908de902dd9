/** The states of a withdrawal as courier and operators see them. Types alone. */

/** @public */
export type WithdrawalState =
  | "held" // waits for a person
  | "approved" // policy said yes, nothing bound yet
  | "intent" // token bound and recorded, not yet signed
  | "signed" // signed, bytes still inside the signer
  | "released" // the gateway durably knows the txHash; bytes may be broadcast
  | "broadcast"
  | "included"
  | "paid" // final, success (the courier's word)
  | "reverted" // final, failed on chain
  | "lost" // another transaction consumed the token
  | "refused" // final, nothing was ever signed
  | "expired" // final, nothing was ever signed
  | "quarantined" // its slot is bound and policy has not said yes, or not any more: only watched, until a person approves it
  | "cancelled"; // final: a payment of nothing to oneself used its slot up (the courier's word)
