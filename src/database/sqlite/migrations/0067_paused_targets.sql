-- Since when a target of notices is paused, and by whom: it gets nothing until it is resumed.
ALTER TABLE notice_targets ADD COLUMN paused_at_ms INTEGER;
ALTER TABLE notice_targets ADD COLUMN paused_by TEXT;
