-- What operators changed with the `quayside` command: who, when, what and why. Nothing changes or deletes an entry.
CREATE TABLE audit_log (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms INTEGER NOT NULL,
  -- The user of the operating system.
  operator TEXT NOT NULL,
  command TEXT NOT NULL,
  -- What was changed: an id, or a network's key.
  target TEXT NOT NULL,
  -- JSON: what the command replaced, and what it left.
  before TEXT,
  after TEXT,
  reason TEXT
) STRICT;

CREATE TRIGGER audit_log_is_not_deleted BEFORE DELETE ON audit_log
BEGIN
  SELECT RAISE(ABORT, 'audit_log is append-only');
END;
CREATE TRIGGER audit_log_is_not_changed BEFORE UPDATE ON audit_log
BEGIN
  SELECT RAISE(ABORT, 'audit_log is append-only');
END;
