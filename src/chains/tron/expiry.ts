/** Lifetime of a payout's transaction. */

/**
 * Long enough to rebroadcast the transaction through an outage. Short enough to read all blocks that could contain it,
 * if it is in none.
 */
export const TRON_EXPIRY_MS = 30 * 60_000;

/** Returns the largest difference between the expirations of transactions that are made at the same time. */
export const expirySpreadMs = (expiryMs: number): number => Math.ceil(expiryMs / 30);
