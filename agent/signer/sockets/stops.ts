/** The operator's verb `pause`, and the stopped networks for `status`. Touches nothing. */
import { type Refusal, refuse } from "../../../base/fault.ts";
import { networkOf } from "../../../chains/families.ts";
import { placeOfStop, stopKey } from "../../socket/stops.ts";
import type { OperatorAnswers, OperatorRequests, SignerStatus } from "../../socket/verbs.ts";
import type { Signer } from "../runtime/signer.ts";

type Reply = (outcome: ({ readonly ok: true } & OperatorAnswers["pause"]) | Refusal) => void;

/**
 * Stops or allows new signatures, or first attempts on the named chain. Refuses CHAIN_UNKNOWN for
 * a name that config.json does not have.
 */
export function pauseSigner(signer: Signer, body: OperatorRequests["pause"], reply: Reply): void {
  const { paused, approver, network: name, currency } = body;
  if (currency !== undefined) {
    const answer = resumeCurrency(signer, body, currency);
    signer.whenDurable(() => reply(answer));
    return;
  }
  const network = name === undefined ? undefined : networkNamed(signer, name);
  const where = network === undefined || network === null ? {} : { network };
  const done =
    network === null ? refuse("CHAIN_UNKNOWN", name) : signer.pause(paused, approver, where);
  const answer = done.ok && name !== undefined ? { ...done, network: name } : done;
  signer.whenDurable(() => reply(answer));
}

/**
 * Lets first attempts in a currency go on, which the signer alone stops. Harmless for one that is
 * not stopped. Refuses POLICY_CURRENCY_UNKNOWN for one that is not known here either.
 */
function resumeCurrency(
  signer: Signer,
  { paused, approver }: OperatorRequests["pause"],
  currency: string,
): Parameters<Reply>[0] {
  const stop = signer.core.stops.networks().find((one) => one.currency === currency);
  if (stop === undefined && signer.core.policy.asset(currency) === undefined)
    return refuse("POLICY_CURRENCY_UNKNOWN", currency);
  if (paused) return refuse("SOCKET_VERB", "an operator only resumes a currency");
  if (stop === undefined) return { ok: true, paused, currency };
  const done = signer.pause(false, approver, placeOfStop(stopKey(stop)));
  return done.ok ? { ...done, currency } : done;
}

/** The network of a chain's name, or of a stopped network that config.json has no more. */
function networkNamed(signer: Signer, name: string): string | null {
  const chain = signer.chain(name);
  if (chain !== undefined) return networkOf(chain);
  return signer.core.stops.on(name) === null ? null : name;
}

/** The networks on which no first attempt is signed. */
export function stoppedOf(signer: Signer): Pick<SignerStatus, "stopped"> {
  const stopped = signer.core.stops.networks();
  if (stopped.length === 0) return {};
  const chains = new Map(signer.accounts().map(({ chain, network }) => [network, chain]));
  return { stopped: stopped.map((one) => ({ ...one, chain: chains.get(one.network) ?? "" })) };
}
