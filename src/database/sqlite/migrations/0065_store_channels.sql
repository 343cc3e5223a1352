-- How a store takes part. So far every store uses the API.
ALTER TABLE stores ADD COLUMN channel_type TEXT NOT NULL DEFAULT 'API';
