-- The part of a hot wallet's balance that lies in coins which no payment can spend, and the reason.
CREATE TABLE unusableCoins (
  account TEXT NOT NULL, currency TEXT NOT NULL, units TEXT NOT NULL, words TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (account, currency)) STRICT;
-- check: SELECT count(*) = 0 FROM unusableCoins
-- The amount of a sweep of coins has its fee in it. Those that ended before had it beside.
UPDATE transactions SET amountUnits = CAST(CAST(amountUnits AS INTEGER) + CAST(feeUnits AS INTEGER) AS TEXT)
  WHERE operation = 'sweep' AND status = 1 AND feeUnits <> '' AND network LIKE 'bip122:%';
