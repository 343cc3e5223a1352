-- What the process that sends webhooks reports about itself: one row.
CREATE TABLE webhook_sender (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  report TEXT NOT NULL
) STRICT;
