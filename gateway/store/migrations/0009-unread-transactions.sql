-- Transactions in blocks that name an account of this gateway and that nobody could read. They stood
-- among the faults alone, of which only so many are kept one by one.
CREATE TABLE unreadTransactions (
  network TEXT NOT NULL, txHash TEXT NOT NULL, block INTEGER NOT NULL, blockTo INTEGER NOT NULL, address TEXT NOT NULL,
  merchant TEXT NOT NULL, code TEXT NOT NULL, words TEXT NOT NULL, at INTEGER NOT NULL, tries INTEGER NOT NULL,
  retryAt INTEGER NOT NULL, settledAt INTEGER, PRIMARY KEY (network, block, txHash, address)) STRICT;
CREATE INDEX unreadOpen ON unreadTransactions (network, address) WHERE settledAt IS NULL;
CREATE INDEX unreadSettled ON unreadTransactions (settledAt) WHERE settledAt IS NOT NULL;
-- A fault's id is block, hash and account, each "?" if it is unknown.
INSERT INTO unreadTransactions (network, txHash, block, blockTo, address, merchant, code, words, at, tries, retryAt, settledAt)
  SELECT network, iif(hash = '?', '', hash), block, block, iif(address = '?', '', address), merchant, code, words, since, tries, 0, NULL
  FROM (SELECT network, merchant, code, words, since, tries, CAST(substr(id, 1, instr(id, ' ') - 1) AS INTEGER) AS block,
    substr(rest, 1, instr(rest, ' ') - 1) AS hash, substr(rest, instr(rest, ' ') + 1) AS address
    FROM (SELECT *, substr(id, instr(id, ' ') + 1) AS rest FROM faults WHERE domain = 'transaction' AND id LIKE '% % %'));
-- check: SELECT count(*) = (SELECT count(*) FROM faults WHERE domain = 'transaction' AND id LIKE '% % %') FROM unreadTransactions
