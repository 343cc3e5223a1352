/**
 * Whether a wallet's balance agrees with the books. Coins that an operator sends to it are not booked, so only what is
 * missing is a difference: more than was expected becomes the new expectation.
 * @module
 */

/** What the wallets of a network should hold of an asset, in base units, and since when they hold less. */
export type WalletBook = Readonly<{ units: bigint; shortSinceMs: number | null }>;

/** A balance may be read from a node that is behind, or above finality: it must stay short for this long. */
export const SHORT_MS = 180_000;

/** Balances are read every minute. One that is older than this could not be read, so nothing compares the wallet. */
const READ_AGO_MS_MAX = 600_000;

/** Returns for how many minutes a wallet's balance could not be read; null if it was. */
export const unreadMinutes = (readAtMs: number, nowMs: number): number | null =>
  nowMs - readAtMs > READ_AGO_MS_MAX ? Math.floor((nowMs - readAtMs) / 60_000) : null;

type WalletReading = Readonly<{
  /** What the wallets hold now. */
  heldUnits: bigint;
  /** What the ledger says that has left them since the last reading; zero or more. */
  spentUnits: bigint;
  /** The most that payouts under way may have taken without being booked yet. */
  openUnits: bigint;
  nowMs: number;
}>;

/**
 * Compares a reading with the book.
 * @param book null at the first reading
 * @returns the next book, and how much is missing once that has lasted; it is not expected any more then
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
