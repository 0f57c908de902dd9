/**
 * Mutants of what stands against a ledger or a database from a backup: handshake, gateway head, and
 * the statements that a signer may make only after the handshake.
 */
import type { Mutant } from "./mutant.ts";
import { isRescued, isRestoredTogether, mayLock } from "./plans.ts";

export const rollbackMutants: readonly Mutant[] = [
  {
    name: "no-handshake-needed",
    file: "agent/signer/handlers/context.ts",
    find: '  return run.handshakeDone ? refuseIfClocksAheadOfBlocks(context) : refuse("SIGNER_NO_HANDSHAKE");',
    replace: "  return refuseIfClocksAheadOfBlocks(context);",
    invariant: "A restored ledger signs before the gateway has told what it holds (monotone).",
    when: ({ rates }) => rates.ledgerRestored > 0 && rates.hostileCourier > 0,
  },
  {
    name: "handshake-of-another-run",
    file: "agent/signer/handlers/welcome.ts",
    find: '  if (welcome.answers !== run.runId) return refuse("WELCOME_OTHER_RUN");\n',
    replace: "",
    invariant:
      "An old welcome, kept by the courier, completes the handshake with a restored ledger, whose gateway head it fits (monotone).",
    when: ({ rates }) => rates.ledgerRestored > 0 && rates.hostileCourier > 0,
  },
  {
    name: "head-ahead-is-fine",
    file: "agent/signer/handlers/gateway-head.ts",
    find: "  if (seq > heads.head.seq) {",
    replace: "  if (seq > heads.head.seq) return null;\n  if (seq > heads.head.seq) {",
    invariant:
      "A gateway that holds more of the ledger than there is goes unnoticed, and its nonces are used again (bijection).",
    when: mayLock,
  },
  {
    name: "head-hash-unread",
    file: "agent/signer/handlers/gateway-head.ts",
    find: "  return hash === gatewayHead.hash ? null : lockSigner(",
    replace: "  return hash !== null ? null : lockSigner(",
    invariant:
      "Only the number of the record of the gateway head is compared, so a ledger that went another way is not noticed (monotone).",
    when: ({ rates }) => rates.folderCloned + rates.ledgerRestored > 0,
  },
  {
    name: "late-head-is-a-fork",
    file: "agent/signer/handlers/gateway-head.ts",
    find: '  if (seq < heads.acked.seq) return "stale";\n',
    replace: '  if (seq < heads.acked.seq && gatewayHead === null) return "stale";\n',
    invariant:
      "An acknowledgement that comes after a newer one locks the agent, though nothing is wrong with its ledger (liveness).",
    when: (plan) => isRescued(plan) && plan.rates.frameOld > 0,
  },
  {
    name: "stale-head-handshakes",
    file: "agent/signer/handlers/welcome.ts",
    find: "held < core.heads.acked.seq || jobs.sequence",
    replace: "jobs.sequence",
    invariant:
      "The signer completes the handshake with a gateway restored from a backup, and goes on as if the gateway held the signatures it has lost (monotone).",
    when: ({ rates }) => rates.gatewayRestored > 0,
  },
  {
    name: "lock-not-recorded",
    file: "agent/signer/handlers/context.ts",
    find: '  if (context.core.locked === null) context.commit([{ kind: "LOCKED", code, detail }]);\n',
    replace: "",
    invariant:
      "A ledger that lacks what the gateway holds refuses and records no lock, so nobody learns that it stands (liveness).",
    when: mayLock,
  },
  {
    name: "lost-jobs-unseen",
    file: "agent/signer/handlers/welcome.ts",
    find: " || jobs.sequence < core.chain.sequence || ",
    replace: " || ",
    invariant:
      "The signer completes the handshake with a gateway that lost a job which shows in no head, and the job's number goes to another one (monotone).",
    when: ({ rates }) => rates.gatewayRestored > 0,
  },
  {
    name: "told-decisions-without-jobs",
    file: "agent/signer/state/resync.ts",
    find: "      return askedEntries(core, record, record.sequence);",
    replace: "      return [];",
    invariant:
      "A gateway that lost orders is told of their signatures and not of the orders, and takes none of it (liveness).",
    when: ({ rates }) => rates.gatewayRestored > 0,
  },
  {
    name: "place-before-the-agent-was-caught-up",
    file: "gateway/withdrawals/jobs.ts",
    find: '  if (run === "" || agent.caughtUp !== run) return',
    replace: '  if (agent.caughtUp === "never" || run === "never") return',
    invariant:
      "A restored gateway gives another job the place of one that it forgot, and the agent locks for good (monotone).",
    when: ({ rates }) => rates.gatewayRestored > 0,
  },
  {
    name: "waiting-jobs-stay-waiting",
    file: "gateway/hub/hub.ts",
    find: "    return { ...done, standing, ...numberJobs(database, agentId, nowMs) };",
    replace: "    return { ...done, standing, placed: 0, refused: [], moved: [] };",
    invariant:
      "What the shop asked for before its agent has caught up is never asked of it (liveness).",
    when: ({ rates }) => rates.gatewayRestored + rates.gatewayDies > 0,
  },
  {
    name: "restored-ledger-expires",
    file: "agent/signer/handlers/decide.ts",
    find: "  if (refuseIfGateClosed(context) !== null) return [];\n",
    replace: "",
    invariant:
      "A signer that is locked, or has no handshake, says that nothing was ever signed, though it may have forgotten a signature (truth).",
    when: ({ rates }) => rates.ledgerRestored + rates.folderCloned > 0 && rates.timeLeaps > 0,
  },
  {
    name: "restored-ledger-declines",
    file: "agent/signer/handlers/decline.ts",
    find: `  const closed = refuseIfGateClosed(context);
  if (closed !== null) return closed;
  const withdrawal = context.core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  if (!isCode(code))`,
    replace: `  const withdrawal = context.core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  if (!isCode(code))`,
    invariant:
      "The courier may end a withdrawal as never signed on a ledger that may have forgotten its signature (truth).",
    when: ({ rates }) => rates.ledgerRestored + rates.folderCloned > 0 && rates.hostileCourier > 0,
  },
  {
    name: "operator-decides-before-the-handshake",
    file: "agent/signer/handlers/approve.ts",
    find: `  // Before the handshake ledger time stands: a yes would count for the day of the newest record.
  const closed = refuseIfGateClosed(context);
  if (closed !== null) return closed;
`,
    replace: "",
    invariant:
      "An operator's yes is taken by a signer that is locked, or has no handshake, for the day of the newest record (monotone).",
    when: (plan) => mayLock(plan) && plan.orders.some((order) => order.mode === "manual"),
  },
  {
    name: "foreign-count-only-alarms",
    file: "agent/signer/handlers/adopt.ts",
    find: '  return monotonicMs - since < aheadLockMs ? { ok: true } : lockSigner(context, "CHAIN_SLOT_FOREIGN", detail);',
    replace: "  return { ok: true };",
    invariant:
      "Somebody else signs with the same key, the chain says so for minutes, and signing goes on (monotone).",
    when: ({ rates }) => rates.foreignOutgoing > 0,
  },
  {
    name: "signs-before-the-chain-was-asked",
    file: "agent/courier/scheduler/signing.ts",
    find: '  if (account.slotCounts.highest === "") return',
    replace: "  if (account.address === '') return",
    invariant:
      "Ledger and database restored together sign again before anybody asked the chain what they have paid since (one token for life).",
    when: isRestoredTogether,
  },
  {
    name: "counts-only-what-is-final",
    file: "agent/courier/scheduler/watching.ts",
    find: "  slotCounts.highest = highest.toString();\n",
    replace: "  slotCounts.highest = final.toString();\n",
    invariant:
      "Ledger and database restored together do not see what both forgot while it waits for a block or for finality (one token for life).",
    when: isRestoredTogether,
  },
  {
    name: "later-run-begins-further-on",
    file: "agent/signer/handlers/adopt.ts",
    find: "  const isLater = known !== undefined && compare(slot, known.adopted) > 0 && !run.adopted.has(key);\n",
    replace: "  const isLater = false;\n",
    invariant:
      "Ledger and database restored to before their first payment take what they paid since for where the account begins (one token for life).",
    when: isRestoredTogether,
  },
];
