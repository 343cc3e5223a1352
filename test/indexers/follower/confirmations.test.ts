import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { attestAll, placeFinal } from '../../../indexers/follower/confirmations.ts';
import type { BlockRef } from '../../../src/core/block.ts';
import { Fault, transient } from '../../../src/core/fault.ts';

const block = (hash: string, parent: string, number: number): BlockRef => ({ hash, parent, number, timeS: number });

const tail = [block('a5', 'a4', 5), block('a6', 'a5', 6), block('a9', 'a6', 9)];
for (const [about, final, expected] of [
  ['a block of ours', block('a6', 'a5', 6), 'ours'],
  ['our tip', block('a9', 'a6', 9), 'ours'],
  ['another block at a height of ours', block('b6', 'a5', 6), 'foreign'],
  ['a block at a height that our chain skips', block('b7', 'a6', 7), 'foreign'],
  ['beyond our tip', block('a10', 'a9', 10), 'elsewhere'],
  ['older than everything we hold', block('a4', 'a3', 4), 'elsewhere'],
] as const) {
  test(`the node's final block is ${about}`, () => assert.is(placeFinal(tail, final), expected));
}

test('a block about which the node fails keeps no other from its credit', async () => {
  const due = ['a5', 'a6', 'a7', 'a8'].map((hash, at) => ({ hash, number: 5 + at, txs: [`tx of ${hash}`] }));
  const failed = transient('node_timeout', 'no answer');
  const { confirmed, gone, fault } = await attestAll(
    {
      async attest({ hash }) {
        if (hash === 'a5' || hash === 'a7') throw failed;
        return hash === 'a6' ? 'holds' : 'gone';
      },
    },
    due,
  );
  assert.equal({ confirmed, gone }, { confirmed: [due[1]], gone: [due[3]] });
  assert.is(fault, failed);
});

test('what is no fault of the node is not taken for one', async () => {
  const due = [{ hash: 'a5', number: 5, txs: [] }];
  const broken = await attestAll({ attest: () => Promise.reject(new TypeError('ours')) }, due).catch((error) => error);
  assert.not.instance(broken, Fault);
  assert.instance(broken, TypeError);
});

test.run();
