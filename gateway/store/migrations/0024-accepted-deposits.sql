-- When a shop or an operator took an expired deposit as paid. Before, the audit alone said so.
ALTER TABLE deposits ADD COLUMN acceptedAt INTEGER;
UPDATE deposits SET acceptedAt = (SELECT max(a.at) FROM audit a WHERE a.subject = deposits.id AND a.act = 'deposit credited')
  WHERE status = 1 AND EXISTS (SELECT 1 FROM audit a WHERE a.subject = deposits.id AND a.act = 'deposit credited');
UPDATE deposits SET acceptedAt = (SELECT max(a.at) FROM audit a WHERE a.subject = deposits.id AND a.act = 'payment credited')
  WHERE status = 1 AND acceptedAt IS NULL AND late = 1
    AND EXISTS (SELECT 1 FROM depositCredits c WHERE c.transactionId = deposits.id)
    AND EXISTS (SELECT 1 FROM audit a WHERE a.subject = deposits.id AND a.act = 'payment credited');
-- check: SELECT count(*) = 0 FROM deposits WHERE acceptedAt IS NOT NULL AND status <> 1
