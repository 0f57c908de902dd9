-- How long the nodes were asked for a coin that none shows, in chain time; and the ended payments
-- whose coin may still come.
CREATE TABLE coinLooks (
  transactionId TEXT PRIMARY KEY REFERENCES transactions(id), chainAt INTEGER NOT NULL, watchedMs INTEGER NOT NULL) STRICT;
CREATE INDEX coinsEnded ON transactions (network) WHERE status = 2 AND code = 'coin_unknown';
-- check: SELECT count(*) = 0 FROM coinLooks
