-- The session that an API request made or named, for the page of that payment.
ALTER TABLE api_requests ADD COLUMN session_id TEXT;
CREATE INDEX api_requests_of_session ON api_requests (store_id, mode, session_id, id) WHERE session_id IS NOT NULL;
