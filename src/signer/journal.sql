-- The signer's journal, with every signature, its intent and the engine's fence. Rows are added and never changed. Each
-- rule that a row could break is an index or a trigger here, so that no program error can sign a payment twice. Names
-- end in their unit; money is decimal TEXT.

-- The fingerprint of the journal's seed.
CREATE TABLE owner (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  fingerprint TEXT NOT NULL
) STRICT;

-- A signed intent.
CREATE TABLE intents (
  id TEXT PRIMARY KEY,
  network TEXT NOT NULL,
  intent TEXT NOT NULL CHECK (json_valid(intent)),
  signed_at_ms INTEGER NOT NULL
) STRICT;

-- A generation of an intent: attempts of which the chain can take one. The next generation needs proof that all of them
-- failed or are dead.
CREATE TABLE generations (
  intent_id TEXT NOT NULL REFERENCES intents (id),
  generation INTEGER NOT NULL CHECK (generation >= 0),
  proof TEXT CHECK (proof IN ('failed', 'dead')),
  network TEXT NOT NULL,
  payer TEXT NOT NULL,
  -- Null where a family has no nonces.
  nonce INTEGER CHECK (nonce >= 0),
  PRIMARY KEY (intent_id, generation),
  CHECK ((generation = 0) = (proof IS NULL)),
  -- One nonce serves one generation of one intent.
  UNIQUE (network, payer, nonce)
) STRICT;

-- A signed transaction.
CREATE TABLE signatures (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  intent_id TEXT NOT NULL,
  generation INTEGER NOT NULL,
  attempt INTEGER NOT NULL CHECK (attempt >= 0),
  network TEXT NOT NULL,
  terms TEXT NOT NULL CHECK (json_valid(terms)),
  tx TEXT NOT NULL,
  bytes BLOB NOT NULL,
  fence INTEGER NOT NULL,
  signed_at_ms INTEGER NOT NULL,
  UNIQUE (intent_id, generation, attempt),
  UNIQUE (network, tx),
  FOREIGN KEY (intent_id, generation) REFERENCES generations (intent_id, generation)
) STRICT;
CREATE INDEX signatures_by_network ON signatures (network, id);
CREATE INDEX signatures_by_time ON signatures (network, signed_at_ms);

-- A signature's part of the caps. Replacements count too, and so does every generation.
CREATE TABLE cap_uses (
  signature_id INTEGER NOT NULL REFERENCES signatures (id),
  -- A currency or `gas`: the amount that moves. `fee`: the highest fee, less that of the replaced transaction.
  cap TEXT NOT NULL,
  units TEXT NOT NULL CHECK (units NOT GLOB '*[^0-9]*' AND units <> ''),
  network TEXT NOT NULL,
  used_at_ms INTEGER NOT NULL,
  PRIMARY KEY (signature_id, cap)
) STRICT, WITHOUT ROWID;
CREATE INDEX cap_uses_by_time ON cap_uses (network, cap, used_at_ms);

-- The approval of a generation above the caps. It serves one generation.
CREATE TABLE approvals (
  intent_id TEXT NOT NULL,
  generation INTEGER NOT NULL,
  approver TEXT NOT NULL,
  until_s INTEGER NOT NULL,
  signature TEXT NOT NULL UNIQUE,
  PRIMARY KEY (intent_id, generation),
  FOREIGN KEY (intent_id, generation) REFERENCES generations (intent_id, generation)
) STRICT, WITHOUT ROWID;

-- Each rise of the fence.
CREATE TABLE fences (
  network TEXT NOT NULL,
  fence INTEGER NOT NULL CHECK (fence > 0),
  seen_at_ms INTEGER NOT NULL,
  PRIMARY KEY (network, fence)
) STRICT, WITHOUT ROWID;

-- A freeze of the signer. Until an approver's signature ends it, nothing is signed on any network.
CREATE TABLE freezes (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  -- Random, so that no old signature ends another freeze, even after an old journal was restored.
  nonce TEXT NOT NULL UNIQUE,
  reason TEXT NOT NULL,
  frozen_by TEXT NOT NULL,
  frozen_at_ms INTEGER NOT NULL
) STRICT;

-- The end of a freeze.
CREATE TABLE thaws (
  freeze INTEGER PRIMARY KEY REFERENCES freezes (number),
  approver TEXT NOT NULL,
  until_s INTEGER NOT NULL,
  signature TEXT NOT NULL UNIQUE,
  thawed_at_ms INTEGER NOT NULL
) STRICT;

-- ── Nothing goes backwards ──────────────────────────────────────────────────────────────────────────────────────────

CREATE TRIGGER fences_rise BEFORE INSERT ON fences
WHEN NEW.fence <= (SELECT max(fence) FROM fences WHERE network = NEW.network)
BEGIN SELECT RAISE(ABORT, 'a fence only rises'); END;

CREATE TRIGGER signatures_serve_the_newest_fence BEFORE INSERT ON signatures
WHEN NEW.fence IS NOT (SELECT max(fence) FROM fences WHERE network = NEW.network)
BEGIN SELECT RAISE(ABORT, 'only the highest fence is served'); END;

CREATE TRIGGER generations_follow BEFORE INSERT ON generations
WHEN NEW.generation <> (SELECT count(*) FROM generations WHERE intent_id = NEW.intent_id)
  OR NEW.network <> (SELECT network FROM intents WHERE id = NEW.intent_id)
  OR NEW.generation > 0 AND NOT EXISTS (
    SELECT 1 FROM signatures WHERE intent_id = NEW.intent_id AND generation = NEW.generation - 1
  )
BEGIN SELECT RAISE(ABORT, 'a generation follows a signed one, on the same network'); END;

CREATE TRIGGER signatures_follow BEFORE INSERT ON signatures
WHEN NEW.attempt <> (
    SELECT count(*) FROM signatures WHERE intent_id = NEW.intent_id AND generation = NEW.generation
  )
  OR NEW.generation <> (SELECT max(generation) FROM generations WHERE intent_id = NEW.intent_id)
  OR NEW.network <> (SELECT network FROM intents WHERE id = NEW.intent_id)
  -- Without a nonce, the chain could take a second attempt besides the first.
  OR NEW.attempt > 0 AND (
    SELECT nonce FROM generations WHERE intent_id = NEW.intent_id AND generation = NEW.generation
  ) IS NULL
BEGIN SELECT RAISE(ABORT, 'an attempt follows those before it, in the newest generation'); END;

-- ── Nothing while frozen ─────────────────────────────────────────────────────────────────────────────────────────────

CREATE TRIGGER freezes_one_at_a_time BEFORE INSERT ON freezes
WHEN EXISTS (SELECT 1 FROM freezes WHERE number = (SELECT max(number) FROM freezes) AND number NOT IN (SELECT freeze FROM thaws))
BEGIN SELECT RAISE(ABORT, 'the signer is frozen already'); END;

CREATE TRIGGER signatures_not_while_frozen BEFORE INSERT ON signatures
WHEN EXISTS (SELECT 1 FROM freezes WHERE number = (SELECT max(number) FROM freezes) AND number NOT IN (SELECT freeze FROM thaws))
BEGIN SELECT RAISE(ABORT, 'the signer is frozen'); END;

-- ── Append only ─────────────────────────────────────────────────────────────────────────────────────────────────────

CREATE TRIGGER owner_kept BEFORE UPDATE ON owner BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER owner_stays BEFORE DELETE ON owner BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER intents_kept BEFORE UPDATE ON intents BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER intents_stay BEFORE DELETE ON intents BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER generations_kept BEFORE UPDATE ON generations BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER generations_stay BEFORE DELETE ON generations BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER signatures_kept BEFORE UPDATE ON signatures BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER signatures_stay BEFORE DELETE ON signatures BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER fences_kept BEFORE UPDATE ON fences BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER fences_stay BEFORE DELETE ON fences BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER cap_uses_kept BEFORE UPDATE ON cap_uses BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER cap_uses_stay BEFORE DELETE ON cap_uses BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER approvals_kept BEFORE UPDATE ON approvals BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER approvals_stay BEFORE DELETE ON approvals BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER freezes_kept BEFORE UPDATE ON freezes BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER freezes_stay BEFORE DELETE ON freezes BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER thaws_kept BEFORE UPDATE ON thaws BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER thaws_stay BEFORE DELETE ON thaws BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
