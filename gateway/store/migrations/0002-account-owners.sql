-- The owner of each account that got deposits with tags. A payment with a tag that nobody gave out
-- asked for the owner by a walk over all such payments before it.
CREATE TABLE accountOwners (
  network TEXT NOT NULL, account TEXT NOT NULL, merchant TEXT NOT NULL REFERENCES merchants(id), agent TEXT REFERENCES agents(id),
  PRIMARY KEY (network, account)) STRICT;
CREATE TRIGGER accountOwned AFTER INSERT ON depositAddresses BEGIN
  INSERT INTO accountOwners (network, account, merchant, agent)
    SELECT network, receiverAddress, merchant, NEW.agent FROM transactions
      WHERE id = NEW.transactionId AND operation = 'deposit' AND receiverAddress <> depositAddress
    ON CONFLICT (network, account) DO UPDATE SET merchant = excluded.merchant, agent = excluded.agent
      WHERE merchant <> excluded.merchant OR agent IS NOT excluded.agent;
END;
-- The newest request of an account names its owner.
INSERT INTO accountOwners (network, account, merchant, agent)
  SELECT network, receiverAddress, merchant, agent FROM (
    SELECT t.network, t.receiverAddress, t.merchant, d.agent,
      row_number() OVER (PARTITION BY t.network, t.receiverAddress ORDER BY t.createdAt DESC, t.id) AS place
    FROM transactions t INDEXED BY taggedDeposits JOIN depositAddresses d ON d.transactionId = t.id
    WHERE t.operation = 'deposit' AND t.receiverAddress <> t.depositAddress)
  WHERE place = 1;
-- check: SELECT count(*) = (SELECT count(*) FROM (SELECT DISTINCT t.network, t.receiverAddress FROM transactions t JOIN depositAddresses d ON d.transactionId = t.id WHERE t.operation = 'deposit' AND t.receiverAddress <> t.depositAddress)) FROM accountOwners
