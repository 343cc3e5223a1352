-- Until when somebody who has just proved their second factor again may do what lets money or power out.
ALTER TABLE web_sessions ADD COLUMN sudo_until_ms INTEGER NOT NULL DEFAULT 0;

-- What people call a key; those from before have no name.
ALTER TABLE keys ADD COLUMN name TEXT;
