/**
 * The watcher's word for a gateway without a watcher: the chain of every hot wallet was read up to
 * its head in a run, and nothing unexplained was seen.
 */
import { hotWalletAddressOn } from "../../gateway/store/agent-accounts.ts";
import { listAgentsEver, readAgent } from "../../gateway/store/agents.ts";
import { markWalletChainRead } from "../../gateway/store/levels.ts";
import type { Database, Store } from "../../gateway/store/store.ts";
import { numberJobs } from "../../gateway/withdrawals/jobs.ts";

/**
 * Gives an agent's waiting jobs their places, as in a run of its own, and leaves its run as it is.
 */
export function placeJobs(store: Store, agentId: string, nowMs: number): void {
  store.write((database) => {
    const before = readAgent(database, agentId)?.caughtUp ?? "";
    database.run("UPDATE agents SET caughtUp = 'a run that places' WHERE id = ?", agentId);
    callLevel(database, "a run that places");
    numberJobs(database, agentId, nowMs);
    database.run("UPDATE agents SET caughtUp = ? WHERE id = ?", before, agentId);
    callLevel(database, before);
  });
}

/** Harmless to call again, as after another agent has paired. */
export function callLevel(database: Database, run: string): void {
  for (const agent of listAgentsEver(database))
    for (const network of JSON.parse(agent.networks) as readonly string[])
      markWalletChainRead(database, { network, account: hotWalletAddressOn(agent, network) }, run);
}
