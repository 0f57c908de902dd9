-- Signed withdrawals whose coin in front no node shows, in no block and no mempool: since when, by
-- this gateway's clock and by the time of the final block.
CREATE TABLE unknownCoins (
  transactionId TEXT PRIMARY KEY REFERENCES transactions(id), since INTEGER NOT NULL, chainSince INTEGER NOT NULL) STRICT;
-- check: SELECT count(*) = 0 FROM unknownCoins
