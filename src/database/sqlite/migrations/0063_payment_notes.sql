-- What a store's people write down about a payment: neither its payer nor the API is shown it.
CREATE TABLE payment_notes (
  id INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES sessions (id),
  at_ms INTEGER NOT NULL,
  author TEXT NOT NULL,
  text TEXT NOT NULL
) STRICT;
CREATE INDEX payment_notes_of_session ON payment_notes (session_id, id);
