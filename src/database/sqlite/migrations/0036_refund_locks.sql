-- Before this version, the account that marks a refund as paid (where the family has one) had an address that anybody
-- could compute. Payouts from then are held against that account too; 1 on rows that exist now, 0 on later ones.
ALTER TABLE payouts ADD COLUMN older_lock INTEGER NOT NULL DEFAULT 0 CHECK (older_lock IN (0, 1));
UPDATE payouts SET older_lock = 1;
