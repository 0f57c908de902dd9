/** The states of a withdrawal as courier and operators see them. Only types. */

export type WithdrawalState =
  | "held" // waits for an operator
  | "approved" // policy approved it, without a slot yet
  | "intent" // has a slot and a recorded intent, not yet signed
  | "signed" // signed, bytes still inside the signer
  | "released" // the gateway durably knows the txHash; bytes may be broadcast
  | "broadcast"
  | "included"
  | "paid" // final, success (the courier's statement)
  | "reverted" // final, failed on chain
  | "conflicted" // another transaction used the slot
  | "refused" // final, never signed
  | "expired" // final; never signed, or every attempt is void
  | "quarantined" // has a slot, but policy has not approved it or no longer does: only watched, until an operator approves it
  | "moved" // final, and not exactly the payment (the courier's statement)
  | "cancelled"; // final: a zero payment to itself used its slot up (the courier's statement)
