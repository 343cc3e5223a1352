import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { placeFinal } from '../../../indexers/follower/confirmations.ts';
import type { BlockRef } from '../../../src/core/block.ts';

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

test.run();
