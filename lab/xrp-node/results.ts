/**
 * Results of transactions as rippled names, numbers and explains them. Source: xrpl.org,
 * transaction results.
 */
import { codecs, type Json } from "./codecs.ts";

/** rippled's words for the results that the stand-in gives. */
const messages = {
  tesSUCCESS: "The transaction was applied. Only final in a validated ledger.",
  tecPATH_DRY: "Path could not send partial amount.",
  tecUNFUNDED_PAYMENT: "Insufficient XRP balance to send.",
  tecNO_DST: "Destination does not exist. Send XRP to create it.",
  tecNO_DST_INSUF_XRP: "Destination does not exist. Too little XRP sent to create it.",
  tecNO_PERMISSION: "No permission to perform requested operation.",
  tecDST_TAG_NEEDED: "A destination tag is required.",
  tefALREADY: "The exact transaction was already in this ledger.",
  tefBAD_AUTH: "Transaction's public key is not authorized.",
  tefPAST_SEQ: "This sequence number has already passed.",
  tefMAX_LEDGER: "Ledger sequence too high.",
  telINSUF_FEE_P: "Fee insufficient.",
  telCAN_NOT_QUEUE: "Can not queue at this time.",
  telCAN_NOT_QUEUE_FEE:
    "Can not queue at this time: fee insufficient to replace queued transaction.",
  telCAN_NOT_QUEUE_FULL: "Can not queue at this time: queue is full.",
  telWRONG_NETWORK: "Transaction specifies a Network ID that differs from that of the local node.",
  telREQUIRES_NETWORK_ID:
    "Transactions submitted to this node/network must include a correct NetworkID field.",
  telNETWORK_ID_MAKES_TX_NON_CANONICAL:
    "Transactions submitted to this node/network must NOT include a NetworkID field.",
  temMALFORMED: "Malformed transaction.",
  temBAD_AMOUNT: "Malformed: Bad amount.",
  temBAD_FEE: "Invalid fee, negative or not XRP.",
  temBAD_SEND_XRP_LIMIT: "Malformed: Limit quality is not allowed for XRP to XRP.",
  temBAD_SEND_XRP_MAX: "Malformed: Send max is not allowed for XRP to XRP.",
  temBAD_SEND_XRP_NO_DIRECT: "Malformed: No Ripple direct is not allowed for XRP to XRP.",
  temBAD_SEND_XRP_PARTIAL: "Malformed: Partial payment is not allowed for XRP to XRP.",
  temDST_NEEDED: "Destination not specified.",
  temINVALID_FLAG: "The transaction has an invalid flag.",
  temREDUNDANT: "The transaction is redundant.",
  terINSUF_FEE_B: "Account balance can't pay fee.",
  terNO_ACCOUNT: "The source account does not exist.",
  terPRE_SEQ: "Missing/inapplicable prior transaction.",
  terQUEUED: "Held until escalated fee drops.",
} as const;

export type Result = keyof typeof messages;

export function messageOf(result: Result): string {
  return messages[result];
}

/** The number by the codec's own table. */
export function codeOf(result: Result): number {
  const { transactionResult: known } = codecs().binary.DEFAULT_DEFINITIONS as unknown as {
    readonly transactionResult: Json;
  };
  const found = known[result] as { readonly ordinal: number } | undefined;
  if (found === undefined) throw new Error(`the codec knows no result ${result}`);
  return found.ordinal;
}
