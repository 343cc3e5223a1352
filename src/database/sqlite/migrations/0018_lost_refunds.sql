-- Refunds that the signer's journal knows and this database lost: what they pay is held against the session that their intent names.
CREATE INDEX payouts_of_lost_refunds ON payouts (intent ->> '$.session.id') WHERE kind = 'refund' AND session_id IS NULL;
