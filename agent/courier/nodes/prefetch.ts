/**
 * Reads a jobs frame before its verification by the signer, only to ask the nodes early for the gas
 * of its payments, and to have the state of an idle chain read. The answers are kept for seconds
 * and used only if the signer approves the same payment. Decides nothing.
 */

import { AgentError } from "../../../base/fault.ts";
import { parseAddress } from "../../../chains/address-forms.ts";
import { parseAmount } from "../../../protocol/amount.ts";
import { envelopeHeaderBytes } from "../../../protocol/envelope.ts";
import { parseJob, parseJobs } from "../../../protocol/payloads.ts";
import type { CourierSettings } from "../../config/settings.ts";
import type { AccountView } from "../../socket/verbs.ts";
import type { ChainAccess } from "./chain.ts";

/** Above this number of jobs in a frame the steps overlap anyway. */
const jobsMax = 8;

export interface PrefetchContext {
  readonly chainAccess: ReadonlyMap<string, ChainAccess>;
  readonly currencies: CourierSettings["currencies"];
  /** Called with the chain of each payment of the frame. */
  readonly onExpected: (chain: string) => void;
  readonly onBug: (error: unknown) => void;
}

/** Never throws, because the signer refuses a frame that cannot be read. */
export function prefetchAnswers(
  frame: Uint8Array,
  accounts: readonly AccountView[],
  { chainAccess, currencies, onExpected, onBug }: PrefetchContext,
): void {
  try {
    const { jobs } = parseJobs(frame.subarray(envelopeHeaderBytes));
    if (jobs.length > jobsMax) return;
    for (const text of jobs) {
      const { currency: id, amount, address, tag } = parseJob(text);
      const currency = currencies[id];
      const account = accounts.find((one) => one.chain === currency?.chain);
      const access = chainAccess.get(currency?.chain ?? "");
      if (currency === undefined || account === undefined || access === undefined || address === "")
        continue;
      onExpected(account.chain);
      const units = parseAmount(amount, currency.decimal);
      const receiver = parseAddress(address, account.network);
      if (!units.ok || !receiver.ok) continue;
      const payment = {
        contract: currency.contract ?? "",
        address: receiver.address,
        tag,
        amountUnits: `${units.units}`,
      };
      access.expect(account.address, payment).catch(onBug);
    }
  } catch (error) {
    if (!(error instanceof AgentError)) onBug(error);
  }
}
