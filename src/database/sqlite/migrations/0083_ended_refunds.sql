-- Refunds by when they were paid or failed, for reports.
CREATE INDEX refunds_ended ON refunds (store_id, mode, processed_at_ms, id) WHERE processed_at_ms IS NOT NULL;
