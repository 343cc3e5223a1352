-- The audit log is read by time, page by page.
CREATE INDEX audit_log_by_time ON audit_log (at_ms, id);
