-- The search box finds a refund by its transaction, and a request of the API by its id.
CREATE INDEX refunds_by_transaction ON refunds (store_id, mode, tx) WHERE tx IS NOT NULL;
CREATE INDEX api_requests_by_request_id ON api_requests (store_id, mode, request_id);
