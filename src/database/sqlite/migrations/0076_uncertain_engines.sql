-- Whether a network's engine has not looked yet, since it was started, for payments that this database does not know.
ALTER TABLE payout_engines ADD COLUMN is_uncertain INTEGER NOT NULL DEFAULT 0;
