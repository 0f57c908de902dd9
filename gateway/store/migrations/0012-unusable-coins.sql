-- The part of a hot wallet's balance that lies in coins which no payment can spend, and the reason.
CREATE TABLE unusableCoins (
  account TEXT NOT NULL, currency TEXT NOT NULL, units TEXT NOT NULL, words TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (account, currency)) STRICT;
-- check: SELECT count(*) = 0 FROM unusableCoins
