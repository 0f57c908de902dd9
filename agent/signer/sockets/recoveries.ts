/** The operator's verb of a recovery: the plan, and the ledger that it begins. */
import { AgentError, refuse } from "../../../base/fault.ts";
import { networkOf } from "../../../chains/families.ts";
import type { OperatorRequests } from "../../socket/verbs.ts";
import { acceptRecovery, showRecovery } from "../handlers/recovery/recover.ts";
import type { Signer } from "../runtime/signer.ts";
import type { Outcome } from "./answers.ts";

/**
 * Shows or carries out a recovery from durable records; the answer follows when its record is on
 * disk.
 */
export function recoverLedger(
  signer: Signer,
  { digest, bothRestored, uncounted = [] }: OperatorRequests["recover"],
  reply: (outcome: Outcome) => void,
): void {
  signer.whenDurable(() => {
    // Other requests may have added records since.
    if (signer.core.heads.head.seq > signer.ledger.durableHead.seq) {
      recoverLedger(signer, { digest, bothRestored, uncounted }, reply);
      return;
    }
    try {
      const done =
        digest === ""
          ? showPlan(signer, bothRestored, uncounted)
          : acceptRecovery(signer.context(), digest);
      const answer: Outcome = done.ok ? { ok: true, plan: done.plan, done: digest !== "" } : done;
      signer.whenDurable(() => {
        reply(answer);
        if (done.ok && digest !== "") signer.restarted();
      });
    } catch (cause) {
      if (!(cause instanceof AgentError)) throw cause;
      reply(cause);
    }
  });
}

/** Refuses as `showRecovery`, and with CHAIN_UNKNOWN for a name that is not in the settings. */
function showPlan(
  signer: Signer,
  bothRestored: boolean,
  names: readonly string[],
): ReturnType<typeof showRecovery> {
  const networks = new Set<string>();
  for (const name of names) {
    const chain = signer.chain(name);
    if (chain === undefined) return refuse("CHAIN_UNKNOWN", name);
    networks.add(networkOf(chain));
  }
  return showRecovery(signer.context(), bothRestored, networks);
}
