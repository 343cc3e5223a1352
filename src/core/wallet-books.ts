/**
 * Compares a wallet's balance with the books. Coins that an operator sends to the wallet are not booked, so only a
 * shortage is a difference. A surplus becomes the new expectation.
 */

/** The expected balance of a network's wallets in an asset, in base units, and the time since which they have less. */
export type WalletBook = Readonly<{ units: bigint; shortSinceMs: number | null }>;

/** Time that a balance must stay short. A reading may come from a lagging node, or from above finality. */
export const SHORT_MS = 180_000;

/** Age at which a balance counts as unread, so that nothing compares the wallet. Balances are read every minute. */
const READ_AGO_MS_MAX = 600_000;

/** Returns the minutes since the last reading of a wallet's balance; null if the reading is fresh. */
export const unreadMinutes = (readAtMs: number, nowMs: number): number | null =>
  nowMs - readAtMs > READ_AGO_MS_MAX ? Math.floor((nowMs - readAtMs) / 60_000) : null;

type WalletReading = Readonly<{
  /** The measured balance. */
  heldUnits: bigint;
  /** Units that left the wallets since the last reading, according to the ledger. They are never negative. */
  spentUnits: bigint;
  /** The most that open payouts may have taken without being booked yet. */
  openUnits: bigint;
  nowMs: number;
}>;

/**
 * Compares a reading with the book.
 * @param book null at the first reading
 * @returns the next book, and the shortage once it has lasted. The next book no longer expects that amount
 */
export function readBook(
  book: WalletBook | null,
  { heldUnits, spentUnits, openUnits, nowMs }: WalletReading,
): Readonly<{ book: WalletBook; missingUnits: bigint }> {
  const expected = book ? book.units - spentUnits : heldUnits;
  const missingUnits = expected - heldUnits - openUnits;
  if (missingUnits <= 0n) {
    return { book: { units: expected > heldUnits ? expected : heldUnits, shortSinceMs: null }, missingUnits: 0n };
  }
  const shortSinceMs = book?.shortSinceMs ?? nowMs;
  if (nowMs < shortSinceMs + SHORT_MS) return { book: { units: expected, shortSinceMs }, missingUnits: 0n };
  return { book: { units: heldUnits, shortSinceMs: null }, missingUnits };
}
