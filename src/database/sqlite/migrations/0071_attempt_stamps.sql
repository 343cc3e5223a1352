-- What an attempt was signed with: the time, the nonce and the signatures that were sent. Null where nothing was sent, and for
-- attempts from before it was kept.
ALTER TABLE attempts ADD COLUMN timestamp_s INTEGER;
ALTER TABLE attempts ADD COLUMN nonce TEXT;
ALTER TABLE attempts ADD COLUMN signature TEXT;
ALTER TABLE attempts ADD COLUMN standard_signature TEXT;
