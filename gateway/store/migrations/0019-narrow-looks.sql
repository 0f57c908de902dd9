-- Indexes for looks that come again and again: the agents of one merchant, agents that are locked or
-- paused, receivers of callbacks that fail, and addresses that hold something, in turn. Before, each
-- look read every agent, receiver or such address.
CREATE INDEX agentsByMerchant ON agents (merchant);
CREATE INDEX agentsHalted ON agents (id) WHERE unpairedAt IS NULL AND (lockedCode <> '' OR pausedAt IS NOT NULL);
CREATE INDEX callbackTargetsFailing ON callbackTargets (id)
  WHERE offReason = 'gone' OR (offAt IS NULL AND failedAt > coalesce(succeededAt, 0));
CREATE INDEX unsweptBalancesByNetwork ON unsweptBalances (network);
CREATE INDEX sweepNotesByNetwork ON sweepNotes (network);
-- check: SELECT count(*) >= 0 FROM agents INDEXED BY agentsByMerchant WHERE merchant = ''
