/**
 * Limits of a withdrawal's attempts that the signer holds and the courier's scheduler keeps to, so
 * that the scheduler asks for nothing that the signer would refuse; and the form of transaction
 * parameters on the socket and in the ledger.
 */

/**
 * The most attempts that a courier can make. An operator has the rest of `attemptsMax`
 * (protocol/payloads.ts), so that no courier and no node can use all of them up.
 */
export const courierAttemptsMax = 14;

/**
 * The shortest time between two attempts of one slot, so that blocks can take the first before the
 * second exists.
 */
export const attemptsApartMs = 30_000;

/**
 * The most withdrawals of one account that have a slot and are in no block yet, as far as the
 * courier reports. The number covers the withdrawals on their way to a block and as many again.
 * More would only wait in the nodes' mempools (geth's hold 5,120 in all), where one stuck
 * transaction blocks all later ones. Any number of included transactions may wait for finality.
 */
export const pendingPerAccountMax = 512;

/** Transaction parameters: their number, their names, and their values, which the family reads. */
export const txParamsMax = 8;
export const txParamName = /^[A-Za-z]{1,32}$/;
/** A figure, or a list of up to 64 coins with their amounts. */
export const txParamForm = /^[0-9A-Za-z:,]+$/;
export const txParamLengthMax = 8_192;
