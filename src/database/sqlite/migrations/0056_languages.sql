-- The language in which a person reads the dashboard; null for the browser's.
ALTER TABLE people ADD COLUMN language TEXT;
