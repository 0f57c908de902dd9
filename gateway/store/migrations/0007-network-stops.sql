-- Networks on which an agent signs no first attempt, by its ledger; and transactions that nothing
-- here signed and that an agent's ledger knows, so that none is named to it again.
CREATE TABLE networkStops (
  agent TEXT NOT NULL REFERENCES agents(id), network TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (agent, network)) STRICT;
CREATE TABLE foreignTold (
  agent TEXT NOT NULL REFERENCES agents(id), network TEXT NOT NULL, txHash TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (agent, network, txHash)) STRICT;
-- check: SELECT count(*) = 0 FROM networkStops
