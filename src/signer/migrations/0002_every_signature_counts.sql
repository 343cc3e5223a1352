-- Every signature counts against the caps: also replacements, and each generation after the first. `cap`, `units` and `approval` of
-- `intents` hold what journals of version 1 counted, once for each intent; they were copied here and stay empty in new rows.

-- What a signature uses of the caps.
CREATE TABLE cap_uses (
  signature_id INTEGER NOT NULL REFERENCES signatures (id),
  -- A currency or `gas`: what the transaction moves. `fee`: by how much it can cost more than the one that it replaces.
  cap TEXT NOT NULL,
  units TEXT NOT NULL CHECK (units NOT GLOB '*[^0-9]*' AND units <> ''),
  network TEXT NOT NULL,
  used_at_ms INTEGER NOT NULL,
  PRIMARY KEY (signature_id, cap)
) STRICT, WITHOUT ROWID;
CREATE INDEX cap_uses_by_time ON cap_uses (network, cap, used_at_ms);
CREATE INDEX signatures_by_time ON signatures (network, signed_at_ms);

INSERT INTO cap_uses (signature_id, cap, units, network, used_at_ms)
SELECT (SELECT min(id) FROM signatures s WHERE s.intent_id = i.id), cap, units, network, signed_at_ms
FROM intents i WHERE cap IS NOT NULL;

-- The approvals that a generation was signed with in place of the caps. Each serves one generation.
CREATE TABLE approvals (
  intent_id TEXT NOT NULL,
  generation INTEGER NOT NULL,
  approver TEXT NOT NULL,
  until_s INTEGER NOT NULL,
  signature TEXT NOT NULL UNIQUE,
  PRIMARY KEY (intent_id, generation, approver),
  FOREIGN KEY (intent_id, generation) REFERENCES generations (intent_id, generation)
) STRICT, WITHOUT ROWID;

INSERT INTO approvals (intent_id, generation, approver, until_s, signature)
SELECT id, 0, approval ->> 'approver', approval ->> 'untilS', approval ->> 'signature'
FROM intents WHERE approval IS NOT NULL;

CREATE TRIGGER cap_uses_kept BEFORE UPDATE ON cap_uses BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER cap_uses_stay BEFORE DELETE ON cap_uses BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER approvals_kept BEFORE UPDATE ON approvals BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER approvals_stay BEFORE DELETE ON approvals BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
