/** Plans on which whole chapters of mutants can show. Pure. */
import type { Plan } from "../world/plan.ts";

/** A segment ends in the run, and the signer starts again after it. */
export function rotatesAndRestarts({ segmentBytesMax, rates }: Plan): boolean {
  return segmentBytesMax <= 4_096 && rates.signerDies + rates.powerFails > 0;
}

/** The same on a line that keeps the gateway from hearing of it for a while. */
export function rotatesUnheard(plan: Plan): boolean {
  const { lineCut, lineHangs, lineSlow } = plan.rates;
  return rotatesAndRestarts(plan) && plan.segmentBytesMax <= 1_024 && lineCut + lineHangs + lineSlow > 0;
}

/** Another server is paired while the old one lives, and nothing else is put back or copied. */
export function isTaken({ rates, orders }: Plan): boolean {
  const { pairedAgain, folderCloned, ledgerRestored, gatewayRestored } = rates;
  return orders.length > 1 && pairedAgain > 0 && folderCloned + ledgerRestored + gatewayRestored === 0;
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

/** A ledger is put back, or copied, and people carry out a recovery. */
export function agentWentBack({ rates, rescue }: Plan): boolean {
  return rescue && rates.ledgerRestored + rates.folderCloned > 0;
}

/** Ledger and database of one server are put back together, and nobody mends it. */
export function isPutBackTogether({ rates, rescue }: Plan): boolean {
  return rates.bothRestored > 0 && !rescue;
}

/** They are, and people compare what the shop asks for again with the chain. */
export function isCompared({ rates, rescue }: Plan): boolean {
  return rates.bothRestored > 0 && rescue;
}
