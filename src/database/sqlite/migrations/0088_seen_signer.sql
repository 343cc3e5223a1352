-- The signer's policy and freeze, as an engine has last seen them: a difference is entered in the audit log, because the
-- signer's own folder has no database that could record who changed them.
CREATE TABLE seen_signer (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  freeze TEXT,
  -- One value for each setting; null before a signer has reported any.
  policy TEXT
) STRICT;
