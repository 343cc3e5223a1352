-- A refund that equals a transfer which an operator has acknowledged (`known`) waits for a person, so such a transfer is
-- found by its payee, too.
DROP INDEX outgoing_by_payee;
CREATE INDEX outgoing_by_payee ON outgoing_transfers (network, to_key) WHERE state IN ('open', 'foreign', 'known');
-- The newest transfer out of our wallets of which a person has said that it did not pay this refund, nor any before it.
ALTER TABLE payouts ADD COLUMN not_paid_through INTEGER;
