-- Refunds that wait for an approval, by store, oldest first: each raises an alarm.
CREATE INDEX refunds_to_approve ON refunds (store_id, created_at_ms)
  WHERE needs_approval = 1 AND approved_at_ms IS NULL AND status IN ('pending', 'processing');
