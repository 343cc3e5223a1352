-- How many approvers' signatures a refund needs, and whose the signer counts, as JSON; null unless it waits for them.
ALTER TABLE payouts ADD COLUMN wait_approvals TEXT;
