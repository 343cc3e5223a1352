-- How far behind each network was read: the worst of every five minutes, kept for a day.
CREATE TABLE network_lags (
  network TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  lag_s INTEGER NOT NULL,
  PRIMARY KEY (network, at_ms)
) STRICT, WITHOUT ROWID;
