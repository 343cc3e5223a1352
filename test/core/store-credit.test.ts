/** A store's own demands besides the networks' policies. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { lacks, needsSecondNode, usualDepth } from '../../src/core/credit-policy.ts';
import { minorToPar } from '../../src/core/money.ts';
import { parseStoreCredit, policyFor, storeCreditExample, storeTiers } from '../../src/core/store-credit.ts';

test('conditions are read by network, each from an amount or for all', () => {
  assert.equal(parseStoreCredit(''), []);
  assert.equal(parseStoreCredit(`${storeCreditExample},tron=second-node@0.5`), [
    { network: 'ethereum', fromPar: minorToPar(100_000n), finality: 'finalized' },
    { network: 'bsc', blocks: 30 },
    { network: 'tron', fromPar: minorToPar(50n), secondNode: true },
  ]);
  assert.equal(storeTiers('ethereum=30,bsc=40,ethereum=finalized@5', 'ethereum'), [
    { blocks: 30 },
    { fromPar: minorToPar(500n), finality: 'finalized' },
  ]);
});

for (const text of [
  'ethereum',
  'ethereum=',
  'ethereum=0',
  'ethereum=safe',
  'Ethereum=30',
  'bsc=30@',
  'bsc=30@1.001',
  'bsc=30,',
  'bsc=30 @5',
  'bsc=second-node@x',
]) {
  test(`refused: "${text}"`, () => assert.is(parseStoreCredit(text), null));
}

test('a store only adds to the network’s policy, and people see the depth that follows', () => {
  const network = {
    name: 'ethereum',
    confirmations: [{ blocks: 12 }, { fromPar: minorToPar(1_000_000n), finality: 'finalized', usual: 64 }],
  } as const;
  const laxer = policyFor(network, 'ethereum=1,bsc=99');
  assert.is(usualDepth(laxer, 1n), 12);
  const stricter = policyFor(network, 'ethereum=finalized@50,ethereum=second-node');
  assert.equal(
    [minorToPar(4999n), minorToPar(5000n)].map((par) => usualDepth(stricter, par)),
    [12, 64],
  );
  assert.ok(needsSecondNode(stricter, 1n));
  const heights = { tip: 99, safe: null, final: null };
  assert.equal([...lacks(stricter, minorToPar(5000n), 50, heights)], ['finalized']);
  assert.is(lacks(stricter, minorToPar(4999n), 50, heights).size, 0);
});

test.run();
