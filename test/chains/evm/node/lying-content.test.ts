/** A node that lies about what a block holds: always a named transient fault, never an empty block. */
import * as assert from 'uvu/assert';
import type { Node } from '../../../../src/chains/chain.ts';
import { faultOf } from '../../../conformance/chain.ts';
import type { LyingBench } from '../../lying-bench.ts';
import { lyingSuite } from '../lying-bench.ts';

/** A log or a receipt; the tests use only fields that exist. */
type Row = Record<string, unknown>;

const { test, both } = lyingSuite('EVM node that lies about content');

async function lightAndThorough(node: Node, read: LyingBench['read']): Promise<string> {
  assert.is((await faultOf(read(node, false))).code, 'node_content_doubtful');
  return (await read(node, true)).map(({ units }) => units).join();
}

both('empty logs of a full block are doubted, and the receipts tell the truth', async (node, { read, lie }) => {
  lie('eth_getLogs', () => []);
  assert.is(await lightAndThorough(node, read), '2,3');
});

both("logs without one token's rows are doubted", async (node, { read, tokens, lie }) => {
  const [, usdc] = tokens;
  lie('eth_getLogs', (rows) => (rows as Row[]).filter((row) => row.address !== usdc.address));
  assert.is(await lightAndThorough(node, read), '2,3');
});

both('a header whose bloom contradicts the rows is doubted, and read again', async (node, { read, lie, proxy }) => {
  lie('eth_getBlockByHash', (header) => ({ ...(header as Row), logsBloom: `0x${'0'.repeat(512)}` }));
  assert.is((await faultOf(read(node, false))).code, 'node_content_doubtful');
  assert.is((await faultOf(read(node, true))).code, 'node_content_contradictory');
  proxy.lies.answer = (_, answer) => answer;
  assert.is((await read(node, true)).length, 2);
  assert.is((await read(node, false)).length, 2);
});

const contradictions: readonly (readonly [string, boolean, (rows: Row[], siblingHash: string) => unknown])[] = [
  ["a sibling's logs", false, (rows, blockHash) => rows.map((row) => ({ ...row, blockHash }))],
  ['one log of a sibling', false, (rows, blockHash) => rows.map((row, at) => (at ? { ...row, blockHash } : row))],
  ['removed logs', false, (rows) => rows.map((row) => ({ ...row, removed: true }))],
  ['a log twice', false, (rows) => [...rows, rows.at(-1)]],
  ['logs in disorder', false, (rows) => rows.toReversed()],
  ['no receipts', true, () => []],
  ['a receipt too few', true, (rows) => rows.slice(1)],
  ['a receipt twice', true, (rows) => [rows[0], rows[0]]],
  ['receipts in disorder', true, (rows) => rows.toReversed()],
  ["a sibling's receipts", true, (rows, blockHash) => rows.map((row) => ({ ...row, blockHash }))],
  ['a log left out of the first receipt', true, ([first, ...rest]) => [{ ...first, logs: [] }, ...rest]],
  ['a log left out of the last receipt', true, ([first, last]) => [first, { ...last, logs: [] }]],
];
for (const [title, thorough, change] of contradictions) {
  both(`${title}: the answer contradicts the block`, async (node, { sibling, proxy, block, lie, read }) => {
    lie(thorough ? 'eth_getBlockReceipts' : 'eth_getLogs', (rows) => change(rows as Row[], sibling.hash));
    const fault = await faultOf(read(node, thorough));
    assert.is(fault.code, 'node_content_contradictory');
    assert.is(fault.kind, 'transient');
    assert.match(fault.message, block.hash);
    proxy.lies.answer = (_, answer) => answer;
    assert.is((await read(node, thorough)).length, 2, 'requested again, the truth is accepted');
  });
}

const nonsense: readonly (readonly [string, boolean, (rows: Row[]) => unknown])[] = [
  ['a text', false, () => 'many'],
  ['an object', true, () => ({})],
  ['rows that are not objects', false, () => [1, 2]],
  ['data of 31 bytes', false, (rows) => rows.map((row) => ({ ...row, data: `0x${'0'.repeat(62)}` }))],
  ['data that is not hex', false, (rows) => rows.map((row) => ({ ...row, data: `0x${'z'.repeat(64)}` }))],
  ['no log index', false, (rows) => rows.map(({ logIndex, ...row }) => row)],
  ['no transaction', false, (rows) => rows.map((row) => ({ ...row, transactionHash: null }))],
  [
    'a cut recipient',
    false,
    (rows) => rows.map((row) => ({ ...row, topics: [...(row.topics as string[]).slice(0, 2), '0x'] })),
  ],
  ['receipts without logs', true, (rows) => rows.map(({ logs, ...row }) => row)],
  ['receipts without status', true, (rows) => rows.map(({ status, ...row }) => row)],
];
for (const [title, thorough, change] of nonsense) {
  both(`${title}: the answer is nonsense`, async (node, { lie, read }) => {
    lie(thorough ? 'eth_getBlockReceipts' : 'eth_getLogs', (rows) => change(rows as Row[]));
    const fault = await faultOf(read(node, thorough));
    assert.is(fault.code, 'node_nonsense');
    assert.is(fault.kind, 'transient');
  });
}

both('null for a block that was just shown: the node does not have it any more', async (node, { lie, read }) => {
  for (const thorough of [false, true]) {
    lie(thorough ? 'eth_getBlockReceipts' : 'eth_getLogs', () => null);
    assert.is((await faultOf(read(node, thorough))).code, 'node_block_unknown');
  }
});

both('a failed transaction has no transfers, even if its logs are shown', async (node, { lie, read }) => {
  lie('eth_getBlockReceipts', (rows) => (rows as Row[]).map((row, at) => (at ? row : { ...row, status: '0x0' })));
  assert.equal(
    (await read(node, true)).map(({ units }) => units),
    [3n],
  );
});

test.run();
