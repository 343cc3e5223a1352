-- Who is informed only of alarms that nobody has acknowledged after so many minutes.
ALTER TABLE notice_targets ADD COLUMN after_minutes INTEGER NOT NULL DEFAULT 0;
