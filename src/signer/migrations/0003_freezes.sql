-- Freezes of the signer: from a freeze until an approver's signature ends it, nothing is signed on any network.

CREATE TABLE freezes (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  -- Random, so that a signature that ended a freeze ends no other one, even after an old journal was restored.
  nonce TEXT NOT NULL UNIQUE,
  reason TEXT NOT NULL,
  frozen_by TEXT NOT NULL,
  frozen_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE thaws (
  freeze INTEGER PRIMARY KEY REFERENCES freezes (number),
  approver TEXT NOT NULL,
  until_s INTEGER NOT NULL,
  signature TEXT NOT NULL UNIQUE,
  thawed_at_ms INTEGER NOT NULL
) STRICT;

CREATE TRIGGER freezes_one_at_a_time BEFORE INSERT ON freezes
WHEN EXISTS (SELECT 1 FROM freezes WHERE number = (SELECT max(number) FROM freezes) AND number NOT IN (SELECT freeze FROM thaws))
BEGIN SELECT RAISE(ABORT, 'the signer is frozen already'); END;

CREATE TRIGGER signatures_not_while_frozen BEFORE INSERT ON signatures
WHEN EXISTS (SELECT 1 FROM freezes WHERE number = (SELECT max(number) FROM freezes) AND number NOT IN (SELECT freeze FROM thaws))
BEGIN SELECT RAISE(ABORT, 'the signer is frozen'); END;

CREATE TRIGGER freezes_kept BEFORE UPDATE ON freezes BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER freezes_stay BEFORE DELETE ON freezes BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER thaws_kept BEFORE UPDATE ON thaws BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER thaws_stay BEFORE DELETE ON thaws BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
