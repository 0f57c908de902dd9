-- Payments that are no rows of their own: small ones that nobody asked for, and those beyond the rows
-- of a request or of a day. Each was a row, so that an outsider made as many as it liked.
CREATE TABLE straySums (
  network TEXT NOT NULL, account TEXT NOT NULL, currency TEXT NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('dust','more')),
  transactionId TEXT NOT NULL, merchant TEXT NOT NULL, fromBlock INTEGER NOT NULL, toBlock INTEGER NOT NULL, count INTEGER NOT NULL,
  units TEXT NOT NULL, largest TEXT NOT NULL, txHash TEXT NOT NULL,
  PRIMARY KEY (network, account, currency, kind, transactionId, fromBlock)) STRICT;
CREATE INDEX straySumsByRequest ON straySums (transactionId) WHERE transactionId <> '';
CREATE TABLE straySumMarks (network TEXT PRIMARY KEY, summedTo INTEGER NOT NULL, fineTo INTEGER NOT NULL) STRICT;
CREATE TABLE strayRecords (
  network TEXT NOT NULL, account TEXT NOT NULL, day INTEGER NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY (network, account, day)) STRICT;
-- check: SELECT count(*) = 0 FROM straySums
-- check: SELECT count(*) = 0 FROM straySumMarks
