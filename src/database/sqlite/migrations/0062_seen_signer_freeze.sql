-- The freeze of the signer itself, as a network's engine has last seen it: who reads this database cannot ask the signer.
ALTER TABLE payout_engines ADD COLUMN signer_freeze TEXT;
