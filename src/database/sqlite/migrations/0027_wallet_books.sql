-- What the refund and gas wallets of a network should hold together of an asset, since the balances were last compared.
CREATE TABLE wallet_books (
  network TEXT NOT NULL,
  -- A stablecoin, or 'native'.
  asset TEXT NOT NULL,
  units TEXT NOT NULL CHECK (units NOT GLOB '*[^0-9-]*' AND units <> ''),
  -- Since when they hold less; null while they do not.
  short_since_ms INTEGER,
  -- Through this entry, the ledger is in `units`.
  ledger_id INTEGER NOT NULL CHECK (ledger_id >= 0),
  PRIMARY KEY (network, asset)
) STRICT, WITHOUT ROWID;
