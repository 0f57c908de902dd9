-- A gap that was given up stays a row until it is known what came in it for each open request that
-- lived in it: the requests ended unpaid before.
ALTER TABLE gaps ADD COLUMN givenUpAt INTEGER;
CREATE TABLE gapHolds (
  network TEXT NOT NULL, account TEXT NOT NULL, fromBlock INTEGER NOT NULL, transactionId TEXT NOT NULL REFERENCES transactions(id),
  PRIMARY KEY (transactionId, network, account, fromBlock)) STRICT;
CREATE INDEX gapHoldsByGap ON gapHolds (network, account, fromBlock);
-- check: SELECT count(*) = 0 FROM gapHolds
