-- Payouts whose final attempt moved something else than was asked for, and what they moved as an
-- operator says; the currencies that are held since; and those in which an agent signs no first
-- attempt, by its ledger. The chains are read again, so what is stuck already is found by that.
CREATE TABLE movedPayments (
  transactionId TEXT PRIMARY KEY REFERENCES transactions(id), txHash TEXT NOT NULL, block INTEGER NOT NULL, feeUnits TEXT NOT NULL,
  at INTEGER NOT NULL, receivedUnits TEXT, sentUnits TEXT) STRICT;
CREATE TABLE currencyHolds (
  currency TEXT NOT NULL, merchant TEXT NOT NULL, at INTEGER NOT NULL, transactionId TEXT NOT NULL, txHash TEXT NOT NULL,
  PRIMARY KEY (currency, merchant)) STRICT;
CREATE TABLE currencyStops (
  agent TEXT NOT NULL REFERENCES agents(id), network TEXT NOT NULL, currency TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (agent, network, currency)) STRICT;
-- check: SELECT count(*) = 0 FROM movedPayments
