-- What a store asks for before a payment is credited, besides the network's own policy (src/core/store-credit.ts).
ALTER TABLE stores ADD COLUMN credit TEXT NOT NULL DEFAULT '';
