-- MACs of the roles of our own wallets, of what left them, and of stores' suspensions. The rows that exist now get theirs
-- when the file is first opened with the installation's secret key; from then on a row without one is refused.
ALTER TABLE own_wallets ADD COLUMN mac TEXT;
ALTER TABLE outgoing_transfers ADD COLUMN mac TEXT;
ALTER TABLE stores ADD COLUMN mac TEXT;
