-- MACs of rows that decide where money goes or who may act. The rows that exist now get theirs when the file is first
-- opened with the installation's secret key; from then on a row without one is refused.
ALTER TABLE keys ADD COLUMN mac TEXT;
ALTER TABLE refund_addresses ADD COLUMN mac TEXT;
ALTER TABLE addresses ADD COLUMN mac TEXT;
