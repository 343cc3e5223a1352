/**
 * The sweep suite on Solana: one transaction sweeps six addresses, the largest amounts first; the gas wallet pays.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { closeBooks } from '../conformance/refund.ts';
import { sweepConforms } from '../conformance/sweep.ts';
import { openSolanaPayouts } from './solana.ts';

const SOL = 1_000_000_000n;

const { shop, node } = await openSolanaPayouts();

sweepConforms(shop, {
  paid: Array.from({ length: 8 }, (_, at) => [(at + 1) * 100, 'USDT'] as const),
  unswept: ['36.00 USDT'],
  poor: /^native_short/,
  coins: 1,
  sweeps: [
    ['33.00 USDT', 6, []],
    ['3.00 USDT', 2, []],
  ],
  tooSmall: [],
  costShare: /^0\.\d\d %$/,
});

test('the gas wallet has paid the fees', () => {
  assert.ok(node.world.accounts().native(shop.gasWallet) < SOL);
});

closeBooks(shop);
