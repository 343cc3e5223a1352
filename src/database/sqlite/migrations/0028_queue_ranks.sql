-- Queues of hosts that never answered share the places of those that do not answer, from their first attempt on.
DROP INDEX delivery_queues_due;
ALTER TABLE delivery_queues DROP COLUMN is_failing;
-- 1 once something was answered, and for standing endpoints, which an operator adds
ALTER TABLE delivery_queues ADD COLUMN answered INTEGER NOT NULL DEFAULT 0;
-- while nothing is answered: when it is tried again
ALTER TABLE delivery_queues ADD COLUMN paused_until_ms INTEGER NOT NULL DEFAULT 0;
-- 2: silent; 1: unproven; 0: proven
ALTER TABLE delivery_queues ADD COLUMN rank INTEGER
  GENERATED ALWAYS AS (iif(silences >= 5, 2, iif(answered = 0, 1, 0))) VIRTUAL;
UPDATE delivery_queues SET answered = EXISTS (SELECT 1 FROM endpoints WHERE id = queue);
CREATE INDEX delivery_queues_due ON delivery_queues (rank, ready_at_ms) WHERE ready_at_ms IS NOT NULL;
