/** Answers of nodes to signed bytes. Only types. */

/**
 * The meaning of a node's words about signed bytes.
 * - known: the node has them already
 * - slot-used: this transaction or another has used the slot or the pin
 * - price: the fee is too low
 * - funds: the account cannot pay for the transaction
 * - expired: the attempt's end is past, by the chain time of this node
 * - node: the node takes nothing now, whatever the bytes are
 * - bytes: this node takes these bytes at no fee
 */
export type BroadcastMeaning =
  | "known"
  | "slot-used"
  | "price"
  | "funds"
  | "expired"
  | "node"
  | "bytes";

/**
 * The fate of signed bytes at one node, or at all that were asked.
 * - taken: the node said that it has them
 * - doubtful: the node may have them
 * - refused: the node answered and did not take them
 * - unsent: surely the node has not received them
 */
export type BroadcastStanding = "taken" | "doubtful" | "refused" | "unsent";

/** One node's answer to signed bytes. It decides the fate of no payment. */
export interface NodeAnswer {
  readonly node: string; // scheme, host and port
  readonly standing: BroadcastStanding;
  readonly meaning: BroadcastMeaning | ""; // "" if no row of the family's table fits
  readonly text: string; // the node's own words, cut and cleaned, for the operator
  /** The least price that a refusal names, decimal, in the unit of `LaterOffers.named`. */
  readonly least?: string;
}

/** One answer for all nodes that were asked, by chains/standing.ts. */
export interface BroadcastAnswer extends NodeAnswer {
  readonly byNode: readonly NodeAnswer[];
}
