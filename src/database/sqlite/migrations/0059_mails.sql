-- Mail to people and payers: what is still to be sent, and what was. `message` is sealed, and erased after 30 days.
CREATE TABLE mails (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('receipt', 'code', 'account')),
  -- A payment has one receipt by mail.
  session_id TEXT UNIQUE,
  store_id TEXT,
  person_id TEXT,
  message TEXT,
  created_at_ms INTEGER NOT NULL,
  due_at_ms INTEGER,
  tries INTEGER NOT NULL,
  sent_at_ms INTEGER,
  error TEXT
) STRICT;
CREATE INDEX mails_due ON mails (due_at_ms, id) WHERE due_at_ms IS NOT NULL;
CREATE INDEX mails_of_store ON mails (store_id, created_at_ms) WHERE store_id IS NOT NULL;
CREATE INDEX mails_of_person ON mails (person_id, created_at_ms) WHERE person_id IS NOT NULL;
CREATE INDEX mails_kept ON mails (created_at_ms, id) WHERE message IS NOT NULL OR session_id IS NULL;

-- A person's mail address (sealed), the one that waits for the code that was sent there, and that code (sealed).
ALTER TABLE people ADD COLUMN mail TEXT;
ALTER TABLE people ADD COLUMN next_mail TEXT;
ALTER TABLE people ADD COLUMN mail_code TEXT;
ALTER TABLE people ADD COLUMN wrong_mail_codes INTEGER NOT NULL DEFAULT 0;

-- Where answers to receipts by mail go; a store without it sends none.
ALTER TABLE page_settings ADD COLUMN receipts_reply_to TEXT;
