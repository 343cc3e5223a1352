-- Whether a session began with a recovery code, and no other second factor was proved in it since.
ALTER TABLE web_sessions ADD COLUMN is_recovered INTEGER NOT NULL DEFAULT 0;
