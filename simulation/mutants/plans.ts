/** Plans on which whole chapters of mutants can show. Pure. */
import type { Plan } from "../world/plan.ts";

/** A segment ends in the run, and the signer starts again after it. */
export function rotatesAndRestarts({ segmentBytesMax, rates }: Plan): boolean {
  return segmentBytesMax <= 4_096 && rates.signerDies + rates.powerFails > 0;
}

/** Something happens that an agent locks itself for. */
export function mayLock({ rates }: Plan): boolean {
  return rates.ledgerRestored + rates.folderCloned + rates.gatewayRestored + rates.foreignSpend > 0;
}

/** People carry out a recovery. */
export function isRescued({ rescue }: Plan): boolean {
  return rescue;
}

/** A ledger is put back to before the gateway saw the end of what is on its way in it. */
export function isOfSent({ oldBackup }: Plan): boolean {
  return oldBackup === "on its way";
}

/** A ledger is put back to before what is held in it was signed. */
export function isOfHeld({ oldBackup }: Plan): boolean {
  return oldBackup === "held";
}

/** Ledger and database of one server are put back together, and nobody mends it. */
export function isPutBackTogether({ rates, rescue }: Plan): boolean {
  return rates.bothRestored > 0 && !rescue;
}

/** They are, and people compare what the shop asks for again with the chain. */
export function isCompared({ rates, rescue }: Plan): boolean {
  return rates.bothRestored > 0 && rescue;
}
