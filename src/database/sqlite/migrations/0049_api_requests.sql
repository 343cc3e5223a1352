-- The newest API requests of each store and mode, for its developers. No bodies and no secrets.
CREATE TABLE api_requests (
  id INTEGER PRIMARY KEY,
  store_id TEXT NOT NULL REFERENCES stores (id),
  mode TEXT NOT NULL,
  key_id TEXT NOT NULL REFERENCES keys (id),
  request_id TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  status INTEGER NOT NULL,
  -- Of a refusal.
  code TEXT,
  ms INTEGER NOT NULL
) STRICT;
CREATE INDEX api_requests_of_store ON api_requests (store_id, mode, id);
CREATE INDEX api_requests_by_time ON api_requests (at_ms);
