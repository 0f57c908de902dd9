/** Every mutant, by chapter. */

import { actorsMutants } from "./actors.ts";
import { admissionMutants } from "./admission.ts";
import { bothRestoredMutants } from "./both-restored.ts";
import { coinMutants } from "./coins.ts";
import { depositMutants } from "./deposits.ts";
import { falseChainMutants } from "./false-chain.ts";
import { faultMutants } from "./faults.ts";
import { forgedMutants } from "./forged.ts";
import { hubMutants } from "./hub.ts";
import { ledgerMutants } from "./ledger.ts";
import { linkMutants } from "./link.ts";
import { manualReplacementMutants } from "./manual-replacement.ts";
import type { Mutant } from "./mutant.ts";
import { nodeMutants } from "./nodes.ts";
import { orderMutants } from "./orders.ts";
import { outboxMutants } from "./outbox.ts";
import { pinMutants } from "./pins.ts";
import { policyMutants } from "./policy.ts";
import { recoveryMutants } from "./recovery.ts";
import { releaseMutants } from "./release.ts";
import { rollbackMutants } from "./rollback.ts";
import { schedulerMutants } from "./scheduler.ts";
import { sequenceMutants } from "./sequences.ts";
import { shopCancelsMutants } from "./shop-cancels.ts";
import { sweepMutants } from "./sweeps.ts";
import { tagMutants } from "./tags.ts";
import { tokenMutants } from "./tokens.ts";
import { twoLiarsMutants } from "./two-liars.ts";
import { twoMerchantsMutants } from "./two-merchants.ts";
import { waitingMutants } from "./waiting.ts";
import { waitingSweepMutants } from "./waiting-sweeps.ts";
import { watcherMutants } from "./watcher.ts";

/** In a fixed order, so that a run can be divided and repeated. */
export const mutants: readonly Mutant[] = [
  ...ledgerMutants,
  ...forgedMutants,
  ...releaseMutants,
  ...rollbackMutants,
  ...recoveryMutants,
  ...admissionMutants,
  ...tokenMutants,
  ...policyMutants,
  ...actorsMutants,
  ...outboxMutants,
  ...schedulerMutants,
  ...nodeMutants,
  ...linkMutants,
  ...hubMutants,
  ...orderMutants,
  ...manualReplacementMutants,
  ...watcherMutants,
  ...sweepMutants,
  ...depositMutants,
  ...waitingMutants,
  ...waitingSweepMutants,
  ...twoLiarsMutants,
  ...falseChainMutants,
  ...twoMerchantsMutants,
  ...shopCancelsMutants,
  ...tagMutants,
  ...sequenceMutants,
  ...pinMutants,
  ...coinMutants,
  ...faultMutants,
  ...bothRestoredMutants,
];
