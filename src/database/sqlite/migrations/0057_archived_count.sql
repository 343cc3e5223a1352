-- How many sessions are archived, so that nobody has to count them for the metrics.
INSERT INTO meta (name, value) SELECT 'archived_sessions', CAST(count(*) AS TEXT) FROM archived_sessions;
