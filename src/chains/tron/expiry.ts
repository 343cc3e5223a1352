/**
 * How long a payout's transaction can be included.
 */

/**
 * Long enough to be rebroadcast through an outage, short enough for its blocks to be read again if it is not included.
 */
export const TRON_EXPIRY_MS = 30 * 60_000;

/** Returns by how much the expirations of transactions made at the same time differ, at most. */
export const expirySpreadMs = (expiryMs: number): number => Math.ceil(expiryMs / 30);
