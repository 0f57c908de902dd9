/**
 * rippled's checks of a transaction, in its order: what the bytes alone decide, what the open
 * ledger decides, and what a transaction does there. Payments of XRP and AccountSet are carried
 * out; everything else is temMALFORMED here. Source: xrpl.org, transaction results, Payment,
 * AccountSet, reserves; rippled's order of preflight, preclaim and apply.
 */
import { codecs, type Json } from "./codecs.ts";
import type { Result } from "./results.ts";
import { type Account, accountFlags, type State } from "./state.ts";
import { dropsOf, type ReadTransaction } from "./transaction.ts";

export interface Rules {
  readonly networkId: number;
  readonly baseFeeDrops: bigint;
  readonly reserveBaseDrops: bigint;
  readonly reserveIncDrops: bigint;
}

export const mainRules: Rules = {
  networkId: 0,
  baseFeeDrops: 10n,
  reserveBaseDrops: 1_000_000n,
  reserveIncDrops: 200_000n,
};

/** The network numbers above this stand in each transaction. */
export const networkIdFree = 1024;
const feeMostDrops = 100_000_000_000_000_000n; // all XRP that there ever was
const accountZero = "rrrrrrrrrrrrrrrrrrrrrhoLvTp";

const commonFields = [
  ...[
    "TransactionType",
    "Account",
    "Fee",
    "Sequence",
    "SigningPubKey",
    "TxnSignature",
    "Flags",
    "LastLedgerSequence",
  ],
  ...["NetworkID", "SourceTag", "Memos"],
];
const fieldsOf: Readonly<Record<string, readonly string[]>> = {
  Payment: [
    "Destination",
    "Amount",
    "DestinationTag",
    "InvoiceID",
    "SendMax",
    "DeliverMin",
    "Paths",
  ],
  AccountSet: ["SetFlag", "ClearFlag"],
};
const paymentFlags = { noDirect: 0x1_0000, partial: 0x2_0000, limitQuality: 0x4_0000 } as const;
/** Flags of an account by their numbers in SetFlag and ClearFlag. */
const settable: Readonly<Record<number, number>> = {
  1: accountFlags.requireDest,
  3: accountFlags.disallowXrp,
  9: accountFlags.depositAuth,
};

/** A result that the bytes alone decide; null goes on. */
export function preflight(tx: ReadTransaction, { networkId }: Rules): Result | null {
  const { fields, type, feeDrops } = tx;
  if (networkId <= networkIdFree && fields.NetworkID !== undefined)
    return "telNETWORK_ID_MAKES_TX_NON_CANONICAL";
  if (networkId > networkIdFree && fields.NetworkID === undefined) return "telREQUIRES_NETWORK_ID";
  if (networkId > networkIdFree && fields.NetworkID !== networkId) return "telWRONG_NETWORK";
  if (feeDrops === null || feeDrops > feeMostDrops) return "temBAD_FEE";
  const known = fieldsOf[type];
  if (known === undefined) return "temMALFORMED";
  if (Object.keys(fields).some((name) => !commonFields.includes(name) && !known.includes(name)))
    return "temMALFORMED";
  return type === "Payment" ? paymentFault(tx) : accountSetFault(tx);
}

function paymentFault({ fields, account, flags }: ReadTransaction): Result | null {
  const { Destination: destination, Amount: amount } = fields;
  const known = paymentFlags.noDirect | paymentFlags.partial | paymentFlags.limitQuality;
  if ((flags & ~known) !== 0) return "temINVALID_FLAG";
  const isXrp = typeof amount === "string";
  if (isXrp && dropsOf(amount) === 0n) return "temBAD_AMOUNT";
  if (destination === accountZero) return "temDST_NEEDED";
  if (destination === account && isXrp) return "temREDUNDANT";
  if (!isXrp) return null;
  if (fields.SendMax !== undefined) return "temBAD_SEND_XRP_MAX";
  if ((flags & paymentFlags.partial) !== 0) return "temBAD_SEND_XRP_PARTIAL";
  if ((flags & paymentFlags.limitQuality) !== 0) return "temBAD_SEND_XRP_LIMIT";
  return (flags & paymentFlags.noDirect) !== 0 ? "temBAD_SEND_XRP_NO_DIRECT" : null;
}

function accountSetFault({ fields, flags }: ReadTransaction): Result | null {
  const [set, clear] = [Number(fields.SetFlag ?? 0), Number(fields.ClearFlag ?? 0)];
  if (flags !== 0 || (set !== 0 && set === clear)) return "temINVALID_FLAG";
  return [set, clear].every((one) => one === 0 || settable[one] !== undefined)
    ? null
    : "temMALFORMED";
}

/** A result that the open ledger decides before the fee is taken; null goes on. */
export function preclaim(
  tx: ReadTransaction,
  state: State,
  openIndex: number,
  rules: Rules,
): Result | null {
  const account = state.account(tx.account);
  if (account === undefined) return "terNO_ACCOUNT";
  if (tx.sequence > account.sequence) return "terPRE_SEQ";
  if (tx.sequence < account.sequence) return "tefPAST_SEQ";
  if (isExpired(tx, openIndex)) return "tefMAX_LEDGER";
  const fee = tx.feeDrops ?? 0n;
  if (fee < rules.baseFeeDrops) return "telINSUF_FEE_P";
  if (account.balanceDrops < fee) return "terINSUF_FEE_B";
  return isOwnKey(tx) ? null : "tefBAD_AUTH";
}

export function isExpired({ lastLedger }: ReadTransaction, openIndex: number): boolean {
  return lastLedger !== null && openIndex > lastLedger;
}

/** The master key alone: the stand-in has no regular keys. */
function isOwnKey({ fields, account }: ReadTransaction): boolean {
  return codecs().keys.deriveAddress(String(fields.SigningPubKey)) === account;
}

/** Takes fee and sequence in a state that passed `preclaim`, and does what the result allows. */
export function carryOut(
  tx: ReadTransaction,
  state: State,
  openIndex: number,
  rules: Rules,
): Result {
  const prior = state.account(tx.account)!;
  const result = tx.type === "Payment" ? paymentResult(tx, prior, state, rules) : "tesSUCCESS";
  takeFee(tx, state);
  if (result !== "tesSUCCESS") return result;
  if (tx.type === "Payment") {
    const drops = dropsOf(tx.fields.Amount)!;
    state.put(tx.account, { balanceDrops: state.account(tx.account)!.balanceDrops - drops });
    state.add(String(tx.fields.Destination), drops, openIndex);
  } else setFlags(tx.fields, tx.account, state);
  return result;
}

export function takeFee(tx: ReadTransaction, state: State): void {
  const { balanceDrops } = state.account(tx.account)!;
  state.put(tx.account, {
    balanceDrops: balanceDrops - (tx.feeDrops ?? 0n),
    sequence: tx.sequence + 1,
  });
}

function paymentResult(
  { fields, feeDrops }: ReadTransaction,
  prior: Account,
  state: State,
  rules: Rules,
): Result {
  const { Destination: destination, Amount: amount, DestinationTag: tag } = fields;
  const receiver = state.account(String(destination));
  const drops = dropsOf(amount);
  if (receiver === undefined) {
    if (drops === null) return "tecNO_DST";
    if (drops < rules.reserveBaseDrops) return "tecNO_DST_INSUF_XRP";
  } else if ((receiver.flags & accountFlags.requireDest) !== 0 && tag === undefined)
    return "tecDST_TAG_NEEDED";
  if (drops === null) return "tecPATH_DRY";
  // The fee may come out of the reserve.
  const left = prior.balanceDrops - drops;
  if (left < reserveOf(prior, rules) || left < (feeDrops ?? 0n)) return "tecUNFUNDED_PAYMENT";
  if (receiver === undefined || (receiver.flags & accountFlags.depositAuth) === 0)
    return "tesSUCCESS";
  // An account that fell to the reserve can be helped out with so much.
  const isRescue =
    drops <= rules.reserveBaseDrops && receiver.balanceDrops <= rules.reserveBaseDrops;
  return isRescue ? "tesSUCCESS" : "tecNO_PERMISSION";
}

function reserveOf({ ownerCount }: Account, { reserveBaseDrops, reserveIncDrops }: Rules): bigint {
  return reserveBaseDrops + BigInt(ownerCount) * reserveIncDrops;
}

function setFlags(fields: Json, address: string, state: State): void {
  const { flags } = state.account(address)!;
  const set = settable[Number(fields.SetFlag ?? 0)] ?? 0;
  const clear = settable[Number(fields.ClearFlag ?? 0)] ?? 0;
  state.put(address, { flags: (flags | set) & ~clear });
}
