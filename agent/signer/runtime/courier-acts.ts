/**
 * The courier's verbs and their acts. An act decides at once, in memory; its answer waits for the
 * disk, at once or with a later sync. Touches nothing but through `Signer`.
 */
import { type Refusal, refuse } from "../../../base/fault.ts";
import { familyOf, networkOf } from "../../../chains/families.ts";
import type { ConfiguredChain } from "../../../chains/family.ts";
import type { CourierOffer, FramedOffer } from "../../socket/offered.ts";
import { parseStopKey, stopKey } from "../../socket/stops.ts";
import type {
  CourierAnswers,
  CourierRequests,
  CourierVerb,
  CourierView,
} from "../../socket/verbs.ts";
import { acknowledgeRecords } from "../handlers/ack.ts";
import { admitJobFrame } from "../handlers/admit.ts";
import { adoptSlot, checkChainCount } from "../handlers/adopt.ts";
import { takeCoinLook } from "../handlers/coin-looks.ts";
import { type AdmissionResult, keepCourierStatus, type Reply } from "../handlers/context.ts";
import { declineWithdrawal } from "../handlers/decline.ts";
import { stopNetworksOfForeign } from "../handlers/foreign.ts";
import { recordObservation } from "../handlers/observe.ts";
import { prepareReplace } from "../handlers/replace.ts";
import { keepSightings } from "../handlers/sightings.ts";
import { prepareSign } from "../handlers/sign.ts";
import { codeOfStop } from "../state/stops.ts";
import { changedWithdrawalPartOf, hasAttemptBytes, stripAttemptBytes } from "../state/view.ts";
import { isOver } from "../state/withdrawal.ts";
import { sweptAccounts } from "./accounts.ts";
import { lockCode, readGatewaySeq } from "./ledger-continuity.ts";
import type { Signer } from "./signer.ts";

/* Reads a slot and a chain as the courier names them. Touches nothing. */

/** Refuses an unknown chain, and a slot that is not in canonical spelling. */
function slotOn(
  chain: ConfiguredChain | undefined,
  name: string,
  slot: string,
): { readonly ok: true; readonly chain: ConfiguredChain & { readonly name: string } } | Refusal {
  if (chain === undefined) return refuse("ACCOUNT_NOT_ADOPTED", name);
  const { read, compare, last } = familyOf(networkOf(chain)).slots;
  if (read(slot) === null || compare(slot, last) > 0)
    return refuse("ACCOUNT_FIRST_SLOT", "no account comes so far");
  return { ok: true, chain: { ...chain, name } };
}

type CourierActs = {
  readonly [V in Exclude<CourierVerb, "each" | "tell">]: (
    signer: Signer,
    body: V extends "sign" | "replace"
      ? Omit<CourierRequests[V], keyof FramedOffer> & CourierOffer
      : CourierRequests[V],
    reply: Reply<V extends "hello" ? Hello : CourierAnswers[V]>,
  ) => void;
};

/** The answer without the process's own settings. */
type Hello = Omit<CourierAnswers["hello"], "config">;

export const courierActs: CourierActs = {
  hello: (signer, _, reply) => hello(signer, reply),
  admit: (signer, { frames: [frame] }, reply) => admitFrame(signer, frame as Uint8Array, reply),
  release: (signer, { frames: [frame] }, reply) => release(signer, frame as Uint8Array, reply),
  sign: (signer, { transactionId, ...offer }, reply) =>
    signer.sign(prepareSign(signer.context(), transactionId, offer), transactionId, reply),
  replace: (signer, { transactionId, above, ...offer }, reply) =>
    signer.sign(
      prepareReplace(signer.context(), transactionId, above, offer),
      transactionId,
      reply,
    ),
  // Nothing of it is recorded, so the answer waits for no disk.
  sightings: (signer, { frames: [frame] }, reply) =>
    reply(keepSightings(signer.context(), frame as Uint8Array)),
  decline: (signer, { transactionId, code }, reply) => {
    const done = declineWithdrawal(signer.context(), transactionId, code);
    const answer = done.ok
      ? { ok: true as const, withdrawal: changedWithdrawalPartOf(done.withdrawal) }
      : done;
    signer.whenDurable(() => reply(answer));
  },
  observed: (signer, claim, reply) => {
    const done = signer.stopping(() => recordObservation(signer.context(), claim));
    const answer = done.ok
      ? {
          ok: true as const,
          withdrawal: stripAttemptBytes(changedWithdrawalPartOf(done.withdrawal)),
        }
      : done;
    // A chain observation is a claim that moves no money, so its record may wait for a shared sync.
    signer.whenDurableLater(() => reply(answer));
  },
  adopt: (signer, { chain: name, slot, quorum, address }, reply) => {
    const known = slotOn(signer.chain(name), name, slot);
    const done = known.ok
      ? adoptSlot(signer.context(), known.chain, { slot, quorum, address })
      : known;
    const account = signer.viewOn(name, address);
    signer.whenDurable(() => reply(done.ok ? { ok: true, account } : done));
  },
  account: (signer, { chain: name, began, ...claim }, reply) => {
    const chain = signer.chain(name);
    const from = began === undefined ? null : slotOn(chain, name, began.slot);
    const known = from?.ok === false ? from : slotOn(chain, name, claim.slot);
    const weighed = known.ok
      ? checkChainCount(signer.context(), known.chain, { ...claim, began })
      : known;
    signer.whenDurable(() => reply(weighed));
  },
  foreign: (signer, { chain: name, address, txHash }, reply) => {
    const chain = signer.chain(name);
    if (chain === undefined) return reply(refuse("CHAIN_UNKNOWN", name));
    const network = networkOf(chain);
    const account = address ?? signer.context().accountOn(network);
    signer.stopping(() =>
      stopNetworksOfForeign(signer.context(), [{ network, account, txHash }], "courier"),
    );
    signer.whenDurable(() => reply({ ok: true }));
  },
  // A claim that moves no money, so its record may wait for a shared sync.
  unseen: (signer, seen, reply) => {
    const taken = takeCoinLook(signer.context(), seen);
    signer.whenDurableLater(() => reply(taken));
  },
  report: (signer, { after }, reply) =>
    signer.whenDurable(() => reply({ ok: true, frames: signer.statements.after(after) })),
};

/** Keeps the courier's report; the answer to it is a summary for the operator's socket. */
export function takeCourierReport(signer: Signer, { courier }: CourierRequests["tell"]): void {
  keepCourierStatus(signer.context(), courier);
}

function hello(signer: Signer, reply: Reply<Hello>): void {
  const { core, run } = signer;
  const { agent, ledgerEpoch, wallet } = core.paired;
  const open: CourierView[] = [];
  for (const withdrawal of core.book.open())
    if (!isOver(withdrawal)) open.push(signer.view(withdrawal));
  const answer = {
    ok: true as const,
    agent,
    ledgerEpoch,
    wallet,
    head: core.heads.head,
    acked: readGatewaySeq(core, run),
    nonce: run.runId,
    handshakeDone: run.handshakeDone,
    locked: lockCode(core, run),
    open,
    accounts: [
      ...signer.accounts(),
      ...sweptAccounts(open, (chain, address) => signer.viewOn(chain, address)),
    ],
    paused: core.paused !== null,
    stopped: core.stops
      .networks()
      .map((one) => ({ ...parseStopKey(stopKey(one)), code: codeOfStop(one) })),
  };
  signer.whenDurable(() => reply(answer));
}

function admitFrame(
  signer: Signer,
  frame: Uint8Array,
  reply: Reply<CourierAnswers["admit"]>,
): void {
  const { core, run } = signer;
  const releasedBefore = core.heads.acked.seq;
  const { handshakeDone, handshake } = run;
  const views = touched(signer, admitJobFrame(signer.context(), frame));
  if (run.handshakeDone && (!handshakeDone || run.handshake !== handshake)) signer.signAssigned();
  if (views.ok && !views.withdrawals.some(hasAttemptBytes)) {
    // A decision has no effect before its INTENT, which follows it in the same file, so the courier
    // may prepare the next step while the disk works. The gateway receives decisions only from
    // durable records. The record of a job that will be signed waits a moment for the INTENT, and
    // shares its sync.
    reply(views);
    if (views.withdrawals.some(({ state }) => state === "approved"))
      signer.whenDurableLater(() => {});
    else signer.whenDurableSoon(() => {});
    return;
  }
  signer.whenDurable(() => {
    reply(views);
    // Only a welcome moves the acknowledged head here; its released withdrawals are pushed like any
    // other change.
    if (!views.ok || core.heads.acked.seq === releasedBefore) return;
    for (const withdrawal of views.withdrawals) signer.push({ push: "changed", withdrawal });
  });
}

function release(signer: Signer, frame: Uint8Array, reply: Reply<CourierAnswers["release"]>): void {
  const { core, run } = signer;
  const { handshake } = run;
  const done = signer.stopping(() => acknowledgeRecords(signer.context(), frame));
  const steps = done.ok
    ? {
        ok: true as const,
        withdrawals: core.book.findEach(done.touched).map(changedWithdrawalPartOf),
      }
    : done;
  if (run.handshake !== handshake) {
    signer.signAssigned();
    signer.whenDurable(() => signer.push({ push: "handshake" }));
  }
  const answer = (): void => reply(steps);
  if (steps.ok && steps.withdrawals.length === 0) signer.whenDurableLater(answer);
  else signer.whenDurable(answer);
}

function touched(
  signer: Signer,
  admitted: AdmissionResult,
): { readonly ok: true; readonly withdrawals: readonly CourierView[] } | Refusal {
  if (!admitted.ok) return admitted;
  return {
    ok: true,
    withdrawals: signer.core.book
      .findEach(admitted.touched)
      .map((withdrawal) => signer.view(withdrawal)),
  };
}
