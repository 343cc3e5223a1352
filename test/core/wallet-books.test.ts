import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readBook, SHORT_MS, unreadMinutes, type WalletBook } from '../../src/core/wallet-books.ts';

const reading = (heldUnits: bigint, spentUnits = 0n, openUnits = 0n, nowMs = 0) => ({
  heldUnits,
  spentUnits,
  openUnits,
  nowMs,
});
const book = (units: bigint, shortSinceMs: number | null = null): WalletBook => ({ units, shortSinceMs });

test('the first reading is the beginning, and what an operator adds is expected from then on', () => {
  assert.equal(readBook(null, reading(10n)), { book: book(10n), missingUnits: 0n });
  assert.equal(readBook(book(10n), reading(25n)), { book: book(25n), missingUnits: 0n });
});

test('what the ledger says that was spent is not missing, and neither is what payouts under way may have taken', () => {
  assert.equal(readBook(book(10n), reading(7n, 3n)), { book: book(7n), missingUnits: 0n });
  assert.equal(readBook(book(10n), reading(7n, 0n, 4n)), { book: book(10n), missingUnits: 0n });
  assert.equal(readBook(book(10n), reading(7n, 3n, 0n)), { book: book(7n), missingUnits: 0n }, 'booked afterwards');
});

test('what is missing is reported once, after it has been missing for long enough', () => {
  const first = readBook(book(10n), reading(6n, 0n, 1n, 1_000));
  assert.equal(first, { book: book(10n, 1_000), missingUnits: 0n });
  const later = readBook(first.book, reading(6n, 0n, 1n, 1_000 + SHORT_MS));
  assert.equal(later, { book: book(6n), missingUnits: 3n });
  assert.is(readBook(later.book, reading(6n, 0n, 1n, 2_000 + SHORT_MS)).missingUnits, 0n);
  const back = readBook(first.book, reading(10n, 0n, 0n, 1_000 + SHORT_MS));
  assert.equal(back, { book: book(10n), missingUnits: 0n }, 'the node was behind');
});

test('whatever is spent by the books, in whatever order it is booked and read, nothing is missing; a theft is', () => {
  const spending = fc.array(
    fc.record({ units: fc.bigInt(1n, 50n), isBookedLate: fc.boolean(), added: fc.bigInt(0n, 50n) }),
  );
  fc.assert(
    fc.property(spending, fc.bigInt(1n, 50n), (steps, stolen) => {
      let [held, now, open] = [10_000n, 0, 0n];
      let current = readBook(null, reading(held)).book;
      const read = (spent: bigint) => {
        now += SHORT_MS;
        const next = readBook(current, reading(held, spent, open, now));
        current = next.book;
        return next.missingUnits;
      };
      for (const { units, isBookedLate, added } of steps) {
        held += added - units;
        open = isBookedLate ? units : 0n;
        assert.is(read(isBookedLate ? 0n : units), 0n);
        if (!isBookedLate) continue;
        open = 0n;
        assert.is(read(units), 0n);
      }
      held -= stolen;
      assert.is(read(0n) + read(0n), stolen);
    }),
  );
});

test('a balance that is older than ten minutes was not read', () => {
  assert.equal([unreadMinutes(0, 600_000), unreadMinutes(0, 600_001), unreadMinutes(5, 0)], [null, 10, null]);
});

test.run();
