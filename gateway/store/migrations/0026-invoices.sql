-- An invoice asks for a sum of money in one of several currencies. Each currency that a payer chooses
-- is a deposit request of its own, and the first one that is paid completes the invoice.
CREATE TABLE invoices (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, merchant TEXT NOT NULL REFERENCES merchants(id), orderId TEXT NOT NULL,
  renews TEXT NOT NULL DEFAULT '', contentHash TEXT NOT NULL, fiatCurrency TEXT NOT NULL, fiatAmount TEXT NOT NULL,
  currencies TEXT NOT NULL, quoteMinutes INTEGER NOT NULL, tolerancePercent TEXT CHECK (tolerancePercent <> ''),
  payToken TEXT NOT NULL UNIQUE, returnUrl TEXT CHECK (returnUrl <> ''), metadata TEXT CHECK (metadata <> ''),
  status INTEGER NOT NULL DEFAULT 0 CHECK (status IN (0,1,2)), code TEXT CHECK (code <> ''), completedBy TEXT,
  createdAt INTEGER NOT NULL, changedAt INTEGER NOT NULL, expiresAt INTEGER NOT NULL,
  CHECK ((status = 1) = (completedBy IS NOT NULL)), CHECK ((status = 2) = (code IS NOT NULL))) STRICT;
CREATE UNIQUE INDEX invoicesByOrder ON invoices (merchant, orderId, renews);
CREATE INDEX invoicesByMerchant ON invoices (merchant, createdAt DESC, id);
CREATE INDEX invoicesByChange ON invoices (merchant, changedAt, id);
CREATE INDEX invoicesOpen ON invoices (expiresAt) WHERE status = 0;
ALTER TABLE deposits ADD COLUMN invoice TEXT CHECK (invoice IS NULL OR (invoice <> '' AND origin = 'ordered'));
ALTER TABLE deposits ADD COLUMN choice TEXT NOT NULL DEFAULT '';
DROP INDEX depositsByOrder;
CREATE UNIQUE INDEX depositsByOrder ON deposits (merchant, orderId, renews, choice);
CREATE UNIQUE INDEX depositsByInvoice ON deposits (invoice, currency) WHERE invoice IS NOT NULL;
CREATE UNIQUE INDEX depositsPaidOfInvoice ON deposits (invoice) WHERE invoice IS NOT NULL AND status = 1;
CREATE INDEX choicesOpen ON deposits (network) WHERE status = 0 AND invoice IS NOT NULL;
CREATE TABLE quotes (
  transactionId TEXT NOT NULL REFERENCES deposits(id), number INTEGER NOT NULL, price TEXT NOT NULL, priceAt INTEGER NOT NULL,
  fromAt INTEGER NOT NULL, untilAt INTEGER NOT NULL, PRIMARY KEY (transactionId, number)) STRICT;
CREATE TABLE firstSights (
  transactionId TEXT NOT NULL REFERENCES deposits(id), txHash TEXT NOT NULL, at INTEGER NOT NULL, quote INTEGER NOT NULL,
  PRIMARY KEY (transactionId, txHash)) STRICT;
ALTER TABLE callbackChanges ADD COLUMN event TEXT;
CREATE TRIGGER callbackInvoiceChosen AFTER INSERT ON deposits WHEN NEW.invoice IS NOT NULL AND (EXISTS (SELECT 1 FROM callbackTargets WHERE merchant = NEW.merchant AND offAt IS NULL) OR EXISTS (SELECT 1 FROM merchants WHERE id = NEW.merchant AND keepsEvents = 1)) BEGIN
  INSERT INTO callbackChanges (transactionId, after, event) SELECT i.id, json_object('status', i.status, 'code', coalesce(i.code, ''), 'completedBy', coalesce(i.completedBy, ''), 'changedAt', i.changedAt), 'invoice.chosen' FROM invoices i WHERE i.id = NEW.invoice;
END;
CREATE TRIGGER callbackInvoiceEnded AFTER UPDATE OF status ON invoices WHEN OLD.status <> NEW.status AND (EXISTS (SELECT 1 FROM callbackTargets WHERE merchant = NEW.merchant AND offAt IS NULL) OR EXISTS (SELECT 1 FROM merchants WHERE id = NEW.merchant AND keepsEvents = 1)) BEGIN
  INSERT INTO callbackChanges (transactionId, after, event) SELECT i.id, json_object('status', i.status, 'code', coalesce(i.code, ''), 'completedBy', coalesce(i.completedBy, ''), 'changedAt', i.changedAt), CASE WHEN NEW.status = 1 THEN 'invoice.completed' WHEN NEW.code = 'invoice_cancelled' THEN 'invoice.cancelled' WHEN OLD.status = 1 THEN 'invoice.revoked' ELSE 'invoice.expired' END FROM invoices i WHERE i.id = NEW.id;
END;
CREATE TRIGGER invoicePaid AFTER UPDATE OF status ON deposits
  WHEN NEW.status = 1 AND OLD.status <> 1 AND NEW.invoice IS NOT NULL BEGIN
  UPDATE invoices SET status = 1, code = NULL, completedBy = NEW.id, changedAt = NEW.changedAt
    WHERE id = NEW.invoice AND completedBy IS NULL;
  DELETE FROM arriving WHERE transactionId IN
    (SELECT id FROM deposits WHERE invoice = NEW.invoice AND status = 0 AND id <> NEW.id);
  UPDATE deposits SET status = 2, stage = 'expired', code = 'invoice_paid', endBlock = NULL, changedAt = NEW.changedAt
    WHERE invoice = NEW.invoice AND status = 0 AND id <> NEW.id;
END;
CREATE TRIGGER invoiceMoved AFTER UPDATE OF status, stage, receivedUnits, late ON deposits WHEN NEW.invoice IS NOT NULL BEGIN
  UPDATE invoices SET changedAt = NEW.changedAt WHERE id = NEW.invoice AND changedAt < NEW.changedAt;
END;
CREATE TRIGGER invoiceRevoked AFTER UPDATE OF status ON deposits
  WHEN OLD.status = 1 AND NEW.status <> 1 AND NEW.invoice IS NOT NULL BEGIN
  UPDATE invoices SET status = 2, code = 'invoice_revoked', completedBy = NULL, changedAt = NEW.changedAt
    WHERE id = NEW.invoice AND completedBy = NEW.id;
END;
-- check: SELECT count(*) = 0 FROM deposits WHERE choice <> ''
