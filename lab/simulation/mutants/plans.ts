/** Plans on which whole chapters of mutants can show. Pure. */
import type { Plan } from "../world/plan.ts";

/** A segment ends in the run, and the signer starts again after it. */
export function rotatesAndRestarts({ segmentBytesMax, rates }: Plan): boolean {
  return segmentBytesMax <= 4_096 && rates.signerDies + rates.powerFails > 0;
}

/** The same on a line that keeps the gateway from learning of it for a while. */
export function rotatesNotCaughtUp(plan: Plan): boolean {
  const { lineCut, lineHangs, lineSlow } = plan.rates;
  return (
    rotatesAndRestarts(plan) && plan.segmentBytesMax <= 1_024 && lineCut + lineHangs + lineSlow > 0
  );
}

/** Another server is paired while the old one lives, and nothing else is restored or copied. */
export function isTaken({ rates, orders }: Plan): boolean {
  const { pairedAgain, folderCloned, ledgerRestored, gatewayRestored } = rates;
  return (
    orders.length > 1 && pairedAgain > 0 && folderCloned + ledgerRestored + gatewayRestored === 0
  );
}

/** Something happens that an agent locks itself for. */
export function mayLock({ rates }: Plan): boolean {
  return (
    rates.ledgerRestored + rates.folderCloned + rates.gatewayRestored + rates.foreignOutgoing > 0
  );
}

/** People carry out a recovery. */
export function isRescued({ recoveryScenario }: Plan): boolean {
  return recoveryScenario;
}

/** A ledger is restored to before the gateway saw the end of what is on its way in it. */
export function isOfSent({ oldBackup }: Plan): boolean {
  return oldBackup === "on its way";
}

/** A ledger is restored, or copied, and people carry out a recovery. */
export function agentRolledBack({ rates, recoveryScenario }: Plan): boolean {
  return recoveryScenario && rates.ledgerRestored + rates.folderCloned > 0;
}

/** Ledger and database of one server are restored together, and nobody mends it. */
export function isRestoredTogether({ rates, recoveryScenario }: Plan): boolean {
  return rates.bothRestored > 0 && !recoveryScenario;
}

/** They are, and people compare what the shop asks for again with the chain. */
export function isCompared({ rates, recoveryScenario }: Plan): boolean {
  return rates.bothRestored > 0 && recoveryScenario;
}
