-- The operating fault that kept the engine from advancing a payout when it last tried; wait_code is what it decided to wait for.
ALTER TABLE payouts ADD COLUMN fault_code TEXT;
ALTER TABLE payouts ADD COLUMN fault_message TEXT CHECK ((fault_code IS NULL) = (fault_message IS NULL));
