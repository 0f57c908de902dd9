-- Payments that left a hot wallet and that no order explains, in blocks and before; how far each hot
-- wallet's chain was read in a run; and payments of which an operator said that they paid no order.
CREATE TABLE unexplained (
  network TEXT NOT NULL, account TEXT NOT NULL, txHash TEXT NOT NULL, block INTEGER, final INTEGER NOT NULL CHECK (final IN (0,1)),
  receiver TEXT NOT NULL, tag TEXT NOT NULL, contract TEXT NOT NULL, units TEXT NOT NULL,
  PRIMARY KEY (account, txHash, network)) STRICT;
CREATE TRIGGER outgoingExplained AFTER INSERT ON signatures BEGIN
  DELETE FROM unexplained WHERE account = NEW.account AND txHash = NEW.txHash;
END;
CREATE TABLE levels (
  network TEXT NOT NULL, account TEXT NOT NULL, run TEXT NOT NULL, trouble TEXT NOT NULL, PRIMARY KEY (network, account)) STRICT;
CREATE TABLE releasedOrders (
  account TEXT NOT NULL, txHash TEXT NOT NULL, transactionId TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (account, txHash, transactionId)) STRICT;
CREATE INDEX jobsWaiting ON jobs (agent, sequence) WHERE sequence < 0 AND answeredAt IS NULL;
-- What was read before this step holds orders back as well.
INSERT OR IGNORE INTO unexplained (network, account, txHash, block, final, receiver, tag, contract, units)
  SELECT network, account, txHash, block, 1, receiver, tag, contract, units FROM outgoing
  WHERE NOT EXISTS (SELECT 1 FROM signatures s WHERE s.txHash = outgoing.txHash AND s.account = outgoing.account);
-- check: SELECT count(*) = (SELECT count(*) FROM (SELECT DISTINCT network, account, txHash FROM outgoing WHERE NOT EXISTS (SELECT 1 FROM signatures s WHERE s.txHash = outgoing.txHash AND s.account = outgoing.account))) FROM unexplained
