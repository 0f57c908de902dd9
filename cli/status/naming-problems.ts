/**
 * Orders and accounts that wait for the gateway's word on a coin, a first slot or the order itself,
 * or for an operator's, each with what ends the wait. Pure.
 */
import type { CourierStatus } from "../../agent/socket/verbs.ts";
import { agentEnds } from "../../agent/state-ends.ts";
import { codes } from "../../base/codes.ts";
import { typedEnd } from "../command-hint.ts";

/** As `Problem` of problems.ts. */
interface NamingProblem {
  readonly code: string;
  readonly what: string;
  readonly hint: string;
  readonly isWarning: boolean;
}

/** Waits of orders for the gateway's word, with what ends them. */
const orderWaits = [
  ["ACCOUNT_PIN_UNNAMED", "the gateway's nodes name a coin that they can spend"],
  ["WITHDRAWAL_UNCLEARED", "the gateway says that nothing on the chain pays them already"],
] as const;

/** An account for which nothing waits yet is a warning. */
export function namingProblems({
  waiting,
  unbegun = [],
}: Pick<CourierStatus, "waiting" | "unbegun">): readonly NamingProblem[] {
  const ofOrders = orderWaits.flatMap(([code, until]): readonly NamingProblem[] => {
    const { length } = waiting.filter(({ why }) => why.includes(code));
    const what = `${length} wait until ${until} (${code})`;
    return length === 0 ? [] : [{ code, what, hint: codes[code].advice, isWarning: false }];
  });
  const ofAccounts = unbegun.map(({ chain, why }): NamingProblem => {
    const { length } = waiting.filter((one) => one.why.includes(why));
    const own = why.startsWith("ACCOUNT_FIRST_SLOT")
      ? "ACCOUNT_FIRST_SLOT"
      : "ACCOUNT_FIRST_UNNAMED";
    const ends =
      own === "ACCOUNT_FIRST_SLOT"
        ? "an operator says where it begins"
        : "the gateway's nodes name its next slot";
    const what = `the account of ${chain} begins when ${ends}, and ${length} wait for it (${own})`;
    return {
      code: own,
      what,
      hint: typedEnd(agentEnds.courier.firstSlot, { CHAIN: chain }),
      isWarning: length === 0,
    };
  });
  return [...ofOrders, ...ofAccounts];
}
