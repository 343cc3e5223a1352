-- JSON: for each network, the newest block that came before the session. Null for the sessions of older versions, whose
-- times are compared instead.
ALTER TABLE sessions ADD COLUMN before_numbers TEXT;
