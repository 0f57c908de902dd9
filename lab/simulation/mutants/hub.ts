/**
 * Mutants of the gateway's hub: acknowledgements before the commit, statements believed too far,
 * jobs that get lost.
 */
import type { Mutant } from "./mutant.ts";
import { isTaken } from "./plans.ts";

const intake = "gateway/hub/hub.ts";
const statements = "gateway/hub/statements.ts";
const effect = "gateway/hub/effect.ts";
const session = "gateway/hub/session.ts";

export const hubMutants: readonly Mutant[] = [
  {
    name: "acknowledges-before-the-commit",
    file: intake,
    find: "    this.#arrivals.push({ session, agentId, statement });",
    replace:
      "    this.#arrivals.push({ session, agentId, statement });\n    session.acknowledge(statement.head);",
    invariant:
      "The gate opens for a signature that no database holds yet, and a crash of the gateway forgets it (release).",
    when: ({ rates }) => rates.gatewayDies + rates.commitFails > 0,
  },
  {
    name: "acknowledges-what-was-refused",
    file: intake,
    find: '        end(verdict.lock ? "locked" : "behind");',
    replace: `        for (const { session, statement } of group) session.acknowledge(statement.head);
        end(verdict.lock ? "locked" : "behind");`,
    invariant:
      "A statement that contradicts the database is acknowledged all the same, and its bytes go out (bijection).",
    when: isTaken,
  },
  {
    name: "gap-in-a-ledger-is-fine",
    file: statements,
    find: `  if (statement.after > storedSeq) return behind(progress, \`its ledger's entries after \${storedSeq} are missing here\`);\n`,
    replace: "",
    invariant:
      "A statement that was lost on the way is never missed: signatures are acknowledged that the database never saw (release).",
    when: ({ rates }) => rates.frameLost + rates.framesSwapped > 0,
  },
  {
    name: "released-agent-served",
    file: statements,
    find: '  if (agent.unpairedAt !== null) return outdated("refused");\n',
    replace: "",
    invariant:
      "An agent that was released for another server goes on over the link it has, and more of its bytes go out (release).",
    when: ({ rates }) => rates.pairedAgain > 0,
  },
  {
    name: "head-without-its-entries",
    file: statements,
    find: "    const refused = applyEntry(progress, entry, statement.head, isHandshakeDone);",
    replace:
      "    const refused = entry.seq > storedSeq + 1 ? applyEntry(progress, entry, statement.head, isHandshakeDone) : null;",
    invariant: "The first record after the stored head is acknowledged and not stored (release).",
  },
  {
    name: "bumps-not-kept",
    file: effect,
    find: '  return { kind: "sign", change, newAttempt: around.known === null, newSlot: around.slotOwner === null };',
    replace:
      '  return { kind: "sign", change, newAttempt: !around.isSigned, newSlot: around.slotOwner === null };',
    invariant:
      "A replacement with a higher fee is acknowledged and not kept, so the service does not know the transaction that pays (release).",
    when: ({ rates }) => rates.feeSpikes > 0,
  },
  {
    name: "completed-on-the-agents-word",
    file: effect,
    find: '  const moves = entry.stage === "broadcast" && row.status === 0 && row.stage === "signed";',
    replace: `  if (entry.outcome === "paid" && row.status === 0) {
    return { kind: "advance", change: { status: 1 as 2, stage: "completed" } };
  }
  const moves = entry.stage === "broadcast" && row.status === 0 && row.stage === "signed";`,
    invariant: "A courier that says paid makes a withdrawal Completed that no chain holds (truth).",
    when: ({ rates }) => rates.hostileCourier > 0,
  },
  {
    name: "failed-on-the-agents-word",
    file: effect,
    find: '  const moves = entry.stage === "broadcast" && row.status === 0 && row.stage === "signed";',
    replace: `  if (entry.outcome === "conflicted" && row.status === 0) {
    return { kind: "advance", change: { status: 2, stage: "failed" } };
  }
  const moves = entry.stage === "broadcast" && row.status === 0 && row.stage === "signed";`,
    invariant:
      "A courier that says lost makes a withdrawal Failed that the chain may still pay (truth).",
    when: ({ rates }) => rates.hostileCourier > 0,
  },
  {
    name: "sent-is-answered",
    file: session,
    find: "      this.#sentSequence = last.sequence;\n",
    replace: `      this.#sentSequence = last.sequence;
      const sql = "UPDATE jobs SET answeredAt = ? WHERE agent = ? AND sequence <= ? AND answeredAt IS NULL";
      store.write((database) => database.run(sql, clock(), live.id, last.sequence));
`,
    invariant:
      "A job counts as answered once it is sent, and one that a broken link swallowed never comes again (liveness).",
  },
  {
    name: "unanswered-not-sent-again",
    file: "gateway/hub/outbox.ts",
    find: "  return first === null ? agent.jobSequence : first - 1;",
    replace:
      "  return first === null ? agent.jobSequence : Math.max(first - 1, agent.jobSequence);",
    invariant:
      "After a reconnect only new jobs are sent, and those that were on their way are lost (liveness).",
  },
  {
    name: "quiet-jobs-not-sent-again",
    file: session,
    find: "      this.#sentSequence = answered;\n    }\n    this.pump();",
    replace: "      this.#quietSince = clock();\n    }\n    this.pump();",
    invariant:
      "A job that found no answer on a connection that stays up is never sent again (liveness).",
    when: ({ rates }) => rates.frameLost > 0,
  },
  {
    name: "lock-not-shown",
    file: statements,
    find: "  if (locked) lockAgent(database, agent.id, code);\n",
    replace: "",
    invariant:
      "An agent that has stopped itself looks as ever in `agents`, and nobody comes (liveness).",
    when: ({ rates }) => rates.foreignOutgoing > 0,
  },
  {
    name: "overlap-not-shown",
    file: intake,
    find: "        this.#keepStanding(agentId, () => last(standings));\n",
    replace: "",
    invariant:
      "A ledger that was restored and went on before it received the gateway's head comes again permanently, and nobody learns that it is locked (liveness).",
    when: ({ rates, recoveryScenario }) => rates.ledgerRestored > 0 && !recoveryScenario,
  },
];
