/** When blocks are due: by depth, by finality, and the small amounts that need not wait for it. */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type ConfirmationPolicy,
  finalityLagMax,
  isDue,
  type OpenTransfer,
  smallBlocks,
  smallParMax,
  usualDepth,
  usualDepthFor,
} from '../../src/core/confirmation.ts';

for (const [about, number, tip, blocks, expected] of [
  ['the tip counts as one confirmation', 10, 10, 1, true],
  ['one block short', 10, 11, 3, false],
  ['exactly deep enough', 10, 12, 3, true],
  ['deeper', 10, 50, 3, true],
] as const) {
  test(`by depth: ${about}`, () => assert.is(isDue({ blocks }, number, tip, null), expected));
}

for (const [about, number, final, expected] of [
  ['the node reports no final block', 10, null, false],
  ['above the final block', 10, 9, false],
  ['the final block itself', 10, 10, true],
  ['below it', 10, 11, true],
] as const) {
  test(`by finality: ${about}`, () => assert.is(isDue({ finality: true, usual: 64 }, number, 999, final), expected));
}

for (const [about, tip, final, expected] of [
  ['deep, and no block is final', 50, null, false],
  ['deep, and above the final block', 50, 9, false],
  ['final, and not deep enough', 11, 10, false],
  ['final and deep', 12, 10, true],
] as const) {
  test(`by depth and finality: ${about}`, () =>
    assert.is(isDue({ blocks: 3, finality: true }, 10, tip, final), expected));
}

test('finality that payments wait for is watched', () => {
  assert.is(finalityLagMax({ blocks: 19 }, 3_000), null);
  assert.is(finalityLagMax({ blocks: 19, finality: true }, 3_000), 100);
  assert.is(finalityLagMax({ finality: true, usual: 64 }, 12_000), 128);
});

const small: ConfirmationPolicy = { finality: true, usual: 32, confirmedParMax: 50n };

test('a payment up to the limit shows one confirmation, a larger one the usual depth', () => {
  assert.equal(
    [1n, 50n, 51n].map((par) => usualDepthFor(small, par)),
    [1, 1, 32],
  );
  for (const policy of [{ finality: true, usual: 32 }, { blocks: 12 }] as const) {
    assert.is(smallParMax(policy), null);
    assert.is(usualDepthFor(policy, 0n), usualDepth(policy));
  }
});

/** `'a:1=30 a:2=20'`: block a pays 30 to address 1 and 20 to address 2. */
const open = (text: string): OpenTransfer[] =>
  text
    .split(' ')
    .filter(Boolean)
    .map((part) => {
      const [block = '', address, par] = part.split(/[:=]/);
      return { block, address: Number(address), par: BigInt(par ?? 0) };
    });

for (const [about, transfers, expected] of [
  ['nothing is open', '', ''],
  ['exactly the limit', 'a:1=50', 'a'],
  ['one unit more', 'a:1=51', ''],
  ['a large payment split in one block', 'a:1=30 a:1=30', ''],
  ['a large payment split over blocks', 'a:1=30 b:1=30', ''],
  ['small payments to several addresses', 'a:1=50 a:2=50 b:3=50', 'a b'],
  ['a large payment beside a small one in the same block', 'a:1=50 a:2=51 b:3=50', 'b'],
  ['one large payer delays only the blocks that pay them', 'a:1=10 b:1=45 b:2=5 c:2=5', 'c'],
] as const) {
  test(`small blocks: ${about}`, () => assert.is([...smallBlocks(open(transfers), 50n)].join(' '), expected));
}

test('no address ever has more than the limit credited without finality, and nothing waits longer than it must', () => {
  const limit = 50n;
  const payment = fc.record({ address: fc.integer({ min: 0, max: 3 }), par: fc.bigInt({ min: 1n, max: 70n }) });
  const step = fc.record({ payments: fc.array(payment, { maxLength: 4 }), finalized: fc.integer({ min: 0, max: 4 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const chain: { number: number; payments: readonly { address: number; par: bigint }[] }[] = [];
      const credited = new Set<number>();
      let final = -1;
      for (const { payments, finalized } of steps) {
        chain.push({ number: chain.length, payments });
        final = Math.min(final + finalized, chain.length - 1);
        const notFinal = chain.filter(({ number }) => number > final);
        const transfers = notFinal.flatMap(({ number, payments: paid }) =>
          paid.map((one) => ({ ...one, block: String(number) })),
        );
        const early = smallBlocks(transfers, limit);
        const isCredited = ({ number }: { number: number }) =>
          isDue(small, number, chain.length - 1, final) || early.has(String(number));
        for (const block of chain.filter(isCredited)) credited.add(block.number);

        const sums = (blocks: typeof chain) =>
          [0, 1, 2, 3].map((address) =>
            blocks
              .flatMap(({ payments: paid }) => paid.filter((one) => one.address === address))
              .reduce((sum, { par }) => sum + par, 0n),
          );
        const exposed = sums(notFinal.filter(({ number }) => credited.has(number)));
        assert.ok(
          exposed.every((sum) => sum <= limit),
          `exposed: ${exposed}`,
        );
        const owed = sums(notFinal);
        for (const { number, payments: paid } of chain) {
          const mustCount = number <= final || paid.every(({ address }) => (owed[address] ?? 0n) <= limit);
          if (paid.length > 0 && mustCount) assert.ok(credited.has(number), `block ${number} is credited`);
        }
      }
    }),
  );
});

test.run();
