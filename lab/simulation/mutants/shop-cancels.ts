/** Mutants of a shop's cancel: ends that the gateway claims before its agent's signer has one. */
import type { Mutant } from "./mutant.ts";

const world = "shop-cancels";

export const shopCancelsMutants: readonly Mutant[] = [
  {
    name: "cancel-ended-by-the-gateway",
    file: "gateway/withdrawals/cancel.ts",
    find: "    keepRecall(database, id, service.clock());",
    replace: `    database.run("UPDATE transfers SET status = 2, stage = 'refused', code = 'SHOP_CANCELLED' WHERE id = ?", id);`,
    invariant: "The gateway calls a withdrawal failed that its agent goes on to pay (truth).",
    world,
  },
  {
    name: "cancel-told-as-done",
    file: "gateway/withdrawals/cancel.ts",
    find: "  const cancelled = isCancelled(now);",
    replace: "  const cancelled = true;",
    invariant: "The shop is told that nothing is paid while the agent may still pay (truth).",
    world,
  },
  {
    name: "recall-outlives-its-signature",
    file: "gateway/withdrawals/cancel.ts",
    find: "  if (isSigned(store.database, id)) return problemAnswer",
    replace:
      "  if (isSigned(store.database, id)) return dataAnswer({ message: '', transactionId: id, cancelled: true, status, stage });\n  if (isSigned(store.database, id)) return problemAnswer",
    invariant:
      "The shop is told that nothing is paid although the withdrawal was signed while it waited (truth).",
    world,
  },
];
