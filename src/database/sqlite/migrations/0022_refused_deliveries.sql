-- Without the deliveries that used up their attempts: each success at the endpoint would read past all of them.
DROP INDEX deliveries_refused;
CREATE INDEX deliveries_refused ON deliveries (endpoint_id, event_id)
  WHERE state = 'failed' AND last_status IN (401, 403, 404, 405, 409, 410) AND attempts < 11;
