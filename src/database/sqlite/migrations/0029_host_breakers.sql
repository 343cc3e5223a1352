-- A host that answers nothing is tried with one attempt at a time, however many endpoints it has.
DROP INDEX delivery_queues_due;
ALTER TABLE delivery_queues DROP COLUMN rank;
-- attempts to the host in a row without an answer, over all of its queues
ALTER TABLE delivery_queues ADD COLUMN host_silences INTEGER NOT NULL DEFAULT 0;
ALTER TABLE delivery_queues ADD COLUMN host_paused_until_ms INTEGER NOT NULL DEFAULT 0;
-- 1 while the queue's own last attempt was answered: the silence of its host does not hold it up
ALTER TABLE delivery_queues ADD COLUMN trusted INTEGER NOT NULL DEFAULT 0;
-- the last attempt without an answer, so that the queues of a silent host take turns
ALTER TABLE delivery_queues ADD COLUMN tried_at_ms INTEGER NOT NULL DEFAULT 0;
-- for hosts of single sessions' endpoints: since when something waits and nothing is answered
ALTER TABLE delivery_queues ADD COLUMN unanswered_since_ms INTEGER;
-- 2: silent; 1: unproven; 0: proven
ALTER TABLE delivery_queues ADD COLUMN rank INTEGER
  GENERATED ALWAYS AS (iif(silences >= 5 OR host_silences >= 5 AND trusted = 0, 2, iif(answered = 0, 1, 0))) VIRTUAL;
UPDATE delivery_queues SET trusted = EXISTS (SELECT 1 FROM endpoints
  WHERE id = queue AND failing_since_ms IS NULL AND answered_event_id IS NOT NULL);
UPDATE delivery_queues SET unanswered_since_ms = unixepoch() * 1000
  WHERE queue = host AND (silences > 0 OR answered = 0);
CREATE INDEX delivery_queues_due ON delivery_queues (rank, ready_at_ms, tried_at_ms) WHERE ready_at_ms IS NOT NULL;
CREATE INDEX delivery_queues_of_host ON delivery_queues (host);
CREATE INDEX delivery_queues_unanswered ON delivery_queues (unanswered_since_ms) WHERE unanswered_since_ms IS NOT NULL;
