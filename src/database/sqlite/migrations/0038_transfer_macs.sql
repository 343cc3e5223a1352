-- The MAC of a transfer covers who sent it: a refund may go back there. The transfers that exist now get theirs when the
-- file is first opened with the installation's secret key.
ALTER TABLE transfers ADD COLUMN mac TEXT;
