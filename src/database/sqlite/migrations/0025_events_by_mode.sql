-- The mode of an event, so that a key reads those of its own mode; and indexes for lists by store, mode and type.
-- What is filled in is bounded: each event is changed once, by the key of its session.
ALTER TABLE events ADD COLUMN mode TEXT NOT NULL DEFAULT 'live' CHECK (mode IN ('live', 'test'));
UPDATE events SET mode = 'test'
  WHERE (SELECT mode FROM sessions WHERE sessions.id = events.session_id) = 'test';
CREATE INDEX events_by_mode ON events (store_id, mode, id);
CREATE INDEX events_by_type ON events (store_id, mode, type, id);
