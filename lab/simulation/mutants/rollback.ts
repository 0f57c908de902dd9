/**
 * Mutants of what stands against a ledger or a database from a backup: greeting, echo, and what
 * only a greeted signer may say.
 */
import type { Mutant } from "./mutant.ts";
import { isPutBackTogether, isRescued, mayLock } from "./plans.ts";

export const rollbackMutants: readonly Mutant[] = [
  {
    name: "no-greeting-needed",
    file: "agent/signer/acts/run.ts",
    find: '  return run.greeted ? aheadOfBlocks(turn) : refuse("SIGNER_NOT_GREETED");',
    replace: "  return aheadOfBlocks(turn);",
    sentence: "A restored ledger signs before the gateway has told what it holds (monotone).",
    when: ({ rates }) => rates.ledgerRestored > 0 && rates.hostileCourier > 0,
  },
  {
    name: "greeting-of-another-run",
    file: "agent/signer/acts/welcome.ts",
    find: '  if (welcome.answers !== run.runId) return refuse("WELCOME_OTHER_RUN");\n',
    replace: "",
    sentence: "An old welcome, kept by the courier, greets a restored ledger, whose echo it fits (monotone).",
    when: ({ rates }) => rates.ledgerRestored > 0 && rates.hostileCourier > 0,
  },
  {
    name: "echo-ahead-is-fine",
    file: "agent/signer/acts/echo.ts",
    find: "  if (seq > heads.head.seq) {",
    replace: "  if (seq > heads.head.seq) return null;\n  if (seq > heads.head.seq) {",
    sentence: "A gateway that holds more of the ledger than there is goes unnoticed, and its nonces are used again (bijection).",
    when: mayLock,
  },
  {
    name: "echo-hash-unread",
    file: "agent/signer/acts/echo.ts",
    find: "  return hash === echo.hash ? null : lock(",
    replace: "  return hash !== null ? null : lock(",
    sentence: "Only the number of the echoed record is compared, so a ledger that went another way is not noticed (monotone).",
    when: ({ rates }) => rates.folderCloned + rates.ledgerRestored > 0,
  },
  {
    name: "late-echo-is-a-fork",
    file: "agent/signer/acts/echo.ts",
    find: '  if (seq < heads.acked.seq) return "stale";\n',
    replace: '  if (seq < heads.acked.seq && echo === null) return "stale";\n',
    sentence:
      "An acknowledgement that comes after a newer one locks the agent, though nothing is wrong with its ledger (liveness).",
    when: (plan) => isRescued(plan) && plan.rates.frameOld > 0,
  },
  {
    name: "stale-echo-greets",
    file: "agent/signer/acts/welcome.ts",
    find: "  return held < core.heads.acked.seq || jobs.sequence",
    replace: "  return jobs.sequence",
    sentence: "A gateway restored from a backup greets, and goes on as if it held the signatures it has lost (monotone).",
    when: ({ rates }) => rates.gatewayRestored > 0,
  },
  {
    name: "lock-not-recorded",
    file: "agent/signer/acts/run.ts",
    find: '  if (turn.core.locked === null) turn.commit([{ kind: "LOCKED", code, detail }]);\n',
    replace: "",
    sentence:
      "A ledger that lacks what the gateway holds refuses and records no lock, so nobody hears that it stands (liveness).",
    when: mayLock,
  },
  {
    name: "lost-jobs-unseen",
    file: "agent/signer/acts/welcome.ts",
    find: " || jobs.sequence < core.chain.sequence || ",
    replace: " || ",
    sentence: "A gateway that lost a job which shows in no head is greeted, and gives its place to another one (monotone).",
    when: ({ rates }) => rates.gatewayRestored > 0,
  },
  {
    name: "told-decisions-without-jobs",
    file: "agent/signer/state/telling.ts",
    find: "      return askedEntries(core, record, record.sequence);",
    replace: "      return [];",
    sentence: "A gateway that lost orders is told of their signatures and not of the orders, and takes none of it (liveness).",
    when: ({ rates }) => rates.gatewayRestored > 0,
  },
  {
    name: "place-before-the-agent-was-heard",
    file: "gateway/withdrawals/jobs.ts",
    find: "  if (agent.heard === run) appendJob(",
    replace: "  if (agent.heard !== run || agent.heard === run) appendJob(",
    sentence: "A restored gateway gives another job the place of one that it forgot, and the agent locks for good (monotone).",
    when: ({ rates }) => rates.gatewayRestored > 0,
  },
  {
    name: "waiting-jobs-stay-waiting",
    file: "gateway/hub/intake.ts",
    find: "    return { ...done, standing, placed: placeJobs(database, agentId) };",
    replace: "    return { ...done, standing, placed: 0 };",
    sentence: "What the shop asked for before its agent was heard is never asked of it (liveness).",
    when: ({ rates }) => rates.gatewayRestored + rates.gatewayDies > 0,
  },
  {
    name: "restored-ledger-expires",
    file: "agent/signer/acts/decide.ts",
    find: "  if (closedGate(turn) !== null) return [];\n",
    replace: "",
    sentence: "A locked or ungreeted signer says that nothing was ever signed, which it may have forgotten (truth).",
    when: ({ rates }) => rates.ledgerRestored + rates.folderCloned > 0 && rates.timeLeaps > 0,
  },
  {
    name: "restored-ledger-declines",
    file: "agent/signer/acts/decline.ts",
    find: `  const closed = closedGate(turn);
  if (closed !== null) return closed;
  const withdrawal = turn.core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  if (!isCode(code))`,
    replace: `  const withdrawal = turn.core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  if (!isCode(code))`,
    sentence: "The courier may end a withdrawal as never signed on a ledger that may have forgotten its signature (truth).",
    when: ({ rates }) => rates.ledgerRestored + rates.folderCloned > 0 && rates.hostileCourier > 0,
  },
  {
    name: "person-decides-before-the-greeting",
    file: "agent/signer/acts/approve.ts",
    find: `  // Before the greeting ledger time stands: a yes would count for the day of the newest record.
  const closed = closedGate(turn);
  if (closed !== null) return closed;
`,
    replace: "",
    sentence: "A person's yes is taken by a locked or ungreeted signer, for the day of the newest record (monotone).",
    when: (plan) => mayLock(plan) && plan.orders.some((order) => order.mode === "manual"),
  },
  {
    name: "foreign-count-only-alarms",
    file: "agent/signer/acts/adopt.ts",
    find: '  return monotonicMs - since < aheadLockMs ? { ok: true } : lock(turn, "CHAIN_SLOT_FOREIGN", detail);',
    replace: "  return { ok: true };",
    sentence: "Somebody else signs with the same key, the chain says so for minutes, and signing goes on (monotone).",
    when: ({ rates }) => rates.foreignSpend > 0,
  },
  {
    name: "signs-before-the-chain-was-asked",
    file: "agent/courier/desk/signing.ts",
    find: '  if (account.counters.highest === "") return',
    replace: "  if (account.address === '') return",
    sentence:
      "Ledger and database put back together sign anew before anybody asked the chain what they have paid since (one token for life).",
    when: isPutBackTogether,
  },
  {
    name: "counts-only-what-is-final",
    file: "agent/courier/desk/watching.ts",
    find: "  counters.highest = highest.toString();\n",
    replace: "  counters.highest = final.toString();\n",
    sentence:
      "Ledger and database put back together do not see what both forgot while it waits for a block or for finality (one token for life).",
    when: isPutBackTogether,
  },
  {
    name: "later-run-begins-further-on",
    file: "agent/signer/acts/adopt.ts",
    find: "  const isLater = known !== undefined && compare(slot, known.adopted) > 0 && !run.adopted.has(key);\n",
    replace: "  const isLater = false;\n",
    sentence:
      "Ledger and database put back to before their first payment take what they paid since for where the account begins (one token for life).",
    when: isPutBackTogether,
  },
];
