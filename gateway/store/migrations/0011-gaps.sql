-- Blocks whose content could not be had, of all accounts ("") or of one: the cursor passed them, and
-- they are asked for again.
CREATE TABLE gaps (
  network TEXT NOT NULL, account TEXT NOT NULL, fromBlock INTEGER NOT NULL, toBlock INTEGER NOT NULL, merchant TEXT NOT NULL,
  code TEXT NOT NULL, words TEXT NOT NULL, since INTEGER NOT NULL, tries INTEGER NOT NULL, retryAt INTEGER NOT NULL,
  toldAt INTEGER, summedTo INTEGER NOT NULL, PRIMARY KEY (network, account, fromBlock)) STRICT;
-- check: SELECT count(*) = 0 FROM gaps
