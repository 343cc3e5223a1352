-- Attempts that were learned from the chain: a failed transaction of a wallet may have been for what one of them paid.
CREATE INDEX attempts_learned ON payout_attempts (network, payer) WHERE answer = 'learned from the chain';
