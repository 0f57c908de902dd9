-- Transactions of hot wallets that nothing explains are counted by account, and one that never becomes
-- final ends by a clock, which begins at the upgrade for those that are kept already.
ALTER TABLE unexplained ADD COLUMN firstAt INTEGER NOT NULL DEFAULT 0;
UPDATE unexplained SET firstAt = unixepoch() * 1000;
CREATE INDEX unexplainedSeen ON unexplained (account, network) WHERE final = 0;
-- check: SELECT count(*) = 0 FROM unexplained WHERE firstAt = 0
