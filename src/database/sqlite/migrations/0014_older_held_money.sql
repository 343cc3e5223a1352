-- Sessions from before held money was recorded are looked at in the order of their ids; the row goes after the last.
INSERT INTO meta (name, value)
  SELECT 'held_money_recorded_through', '' WHERE EXISTS (SELECT 1 FROM sessions WHERE payment_count > 0);
