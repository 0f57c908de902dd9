/**
 * Work that running agents have still to end, or to notice, before a run may be called over; "" if
 * there is none.
 */

import { findWithoutLimitRoom } from "../../../agent/signer/sockets/stuck.ts";
import type { Core } from "../../../agent/signer/state/core.ts";
import { limitUseAt } from "../../../agent/signer/state/policy-state.ts";
import { catchUpStates } from "../../../gateway/recovery/catch-up.ts";
import { parseAmount } from "../../../protocol/amount.ts";
import type { Scene } from "./scene.ts";
import { begun, currencies, hotWallet, network, policyOf, stage } from "./setting.ts";

/** The open withdrawals of an unpaired agent stay with it, and nobody reports them. */
export function serving({ machines, takeover }: Scene): Scene["machines"] {
  return takeover.next === null ? machines : machines.filter((machine) => machine !== machines[0]);
}

/** Withdrawals that an agent has not ended, though they wait for no operator. */
function unfinished(world: Scene): string {
  if (world.payments.foreign.size > 0) return "";
  const { left } = world.actors;
  const isOpen = (core: Core): boolean =>
    [...core.book.open()].some(({ transactionId }) => !left.has(transactionId));
  const busy = serving(world).find(({ signer }) => signer !== null && isOpen(signer.signer.core));
  return busy === undefined || busy.signer?.signer.core.locked !== null
    ? ""
    : `${busy.name} has withdrawals open`;
}

/**
 * Somebody else used a nonce that the agent had bound, a lying courier told an end of it first, and
 * the gateway said that it ended: nobody asks the signer's chain about it any more. The gateway
 * itself knows whose transaction that was, and its operator has the alarm.
 */
function isHidden(world: Scene, nonce: number): boolean {
  if (!world.faultInjector.isDeceived) return false;
  const alarmed = `SELECT t.id FROM slots s JOIN transfers t ON t.id = s.transactionId JOIN audit a ON a.subject = t.id
    WHERE s.account = ? AND s.slot = ? AND t.code = 'chain_slot_consumed' AND a.act LIKE 'alarm WATCHER_PAYMENT_FAILED%'`;
  const [failed] = world.gateway.all<{ id: string }>(alarmed, hotWallet, `${nonce}`);
  // While it is open there, an honest courier can still say whose it was.
  return (
    failed !== undefined &&
    !serving(world).some(({ signer }) => signer?.signer.core.book.openOne(failed.id))
  );
}

/**
 * Somebody else used a nonce of the account for good since it was adopted, and the agent has not
 * stopped.
 */
function unnoticed(world: Scene): string {
  const nonces = world.payments.foreignNonces.filter((nonce) => !isHidden(world, nonce));
  const blind = serving(world).find(({ signer }) => {
    const { locked, accounts } = signer?.signer.core ?? { locked: null, accounts: null };
    const adopted = accounts?.find(network, hotWallet)?.adopted;
    return (
      locked === null &&
      adopted !== undefined &&
      nonces.some((nonce) => BigInt(nonce) >= BigInt(adopted))
    );
  });
  return blind === undefined ? "" : `${blind.name} has not noticed who else uses its account`;
}

/**
 * An unpaired server's nonce that no block has: it waits there or was never sent, and holds up all
 * that the next one pays.
 */
export function isHeldUp({ gateway, takeover, machines, chainFixture }: Scene): boolean {
  if (takeover.next === null) return false;
  const sql =
    "SELECT slot FROM slots JOIN jobs ON jobs.transactionId = slots.transactionId WHERE jobs.agent = ?";
  const bound = gateway.all<{ slot: string }>(sql, machines[0]?.id ?? "");
  return bound.some(({ slot }) => chainFixture.hasStillToCome(slot));
}

export function pendingWorkOf(world: Scene): string {
  // A lying courier had a spent coin, or none, added to a payment, and no operator here cancels it.
  const isSpoiled = world.faultInjector.isDeceived && world.payments.isSpoiled === true;
  return isHeldUp(world) || isSpoiled
    ? ""
    : world.actors.open() || world.customers.open() || unfinished(world) || unnoticed(world);
}

/**
 * The agent that has stopped itself although its line in the gateway's `agents` looks as before; ""
 * if there is none. One state folder that runs twice is one line there, and the sound copy's
 * statement may be the newer one. A lying courier may keep any statement to itself, and a database
 * that lacks the agent's records shows that instead.
 */
export function unshownLock(world: Scene): string {
  const { gateway } = world;
  if (gateway.owner === null || world.faultInjector.isDeceived) return "";
  const locked = serving(world).find(({ id, signer }) => {
    if (
      !signer?.signer.core.locked ||
      world.machines.some((other) => other.id === id && other.signer !== signer && other.isOn)
    )
      return false;
    const sql =
      "SELECT 1 FROM agents WHERE id = ? AND unpairedAt IS NULL AND lockedCode = '' AND caughtUp NOT IN (?, ?)";
    return gateway.all(sql, id, catchUpStates.behind, catchUpStates.given).length > 0;
  });
  return locked === undefined
    ? ""
    : `${locked.name} is locked: ${locked.signer?.signer.core.locked?.code}`;
}

/**
 * Simulated time until which limits held back all that is open, 0 when they did not hold back all
 * of it: what was approved an hour after another may find that one bound just before it, and waits
 * then until that one counts no more.
 */
export function heldBackUntilMs(world: Scene): number {
  const { recoveryScenario, actors } = world;
  if (recoveryScenario?.waits || actors.untaken.length > 0 || unnoticed(world) !== "") return 0;
  const machines = serving(world);
  const books = machines.flatMap(({ signer }) => [...(signer?.signer.core.book.open() ?? [])]);
  const open = [
    ...books.map(({ transactionId }) => transactionId),
    ...actors.unended.map(({ id }) => id),
  ];
  const untilOf = (id: string): number =>
    Math.max(0, ...machines.map((one) => world.ledgerOf(one).heldBackUntil(id)));
  return open.length === 0 ? 0 : Math.max(0, Math.min(...open.map(untilOf)) - begun);
}

/** Whether a clock was set back behind a ledger: until it comes there, the ledger's time stands. */
export function isTimeStanding(world: Scene): boolean {
  return serving(world).some(
    (machine) => (machine.signer?.signer.core.heads.at ?? 0) > machine.clock(),
  );
}

/**
 * Whether a courier that named its own prices may have left less of the day's fees than a payment
 * costs: honest ones wait for tomorrow.
 */
export function haveFeesRunOut(world: Scene): boolean {
  const limit = parseAmount(policyOf(world.plan).maxFeePerDay, stage.coin.decimal);
  if (!world.faultInjector.isDeceived || !limit.ok) return false;
  const isSpent = ({ policy, heads }: Core, currency: string): boolean =>
    limitUseAt(policy, currency, heads.at).feesUnits * 3n > limit.units;
  const cores = serving(world).flatMap(({ signer }) =>
    signer === null ? [] : [signer.signer.core],
  );
  return cores.some((core) => Object.keys(currencies).some((currency) => isSpent(core, currency)));
}

/**
 * Whether the day's amounts are used up for a withdrawal whose attempts are all void: its next
 * attempt waits for tomorrow, as `status` says.
 */
export function isDayUsedUp(world: Scene): boolean {
  return serving(world).some(
    ({ signer }) => signer !== null && findWithoutLimitRoom(signer.signer).noRoom !== undefined,
  );
}
