/**
 * `quayside network sync`: what is said about a node that catches up, one that never will, and one that does not
 * answer. `test/nodes/check.test.ts` watches a real geth.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openProgress } from '../../scripts/cli/output.ts';
import { estimate, leftText, type Sample } from '../../scripts/nodes/sync-estimate.ts';
import { phaseOf } from '../../scripts/nodes/sync-phase.ts';
import { runQuayside } from '../support/quayside-process.ts';
import { SANDBOX_CHAIN_ID, sandboxTokens, startSimulatedNode } from '../support/simulated-node.ts';

const BLOCK_MS = 12_000;
const NOW_MS = 1_800_000_000_000;
const HOUR_S = 3_600;

/** A node that began `behindS` behind; each of these is a minute in which it read so many seconds of the chain. */
function seen(behindS: number, ratesByMinute: readonly number[], phase: string | null = null): [Sample, ...Sample[]] {
  let timeS = NOW_MS / 1000 - behindS;
  const first = { atMs: NOW_MS, number: 1_000, timeS, peers: 3, phase };
  const more = ratesByMinute.map((rate, at) => {
    timeS += rate * 60;
    return {
      ...first,
      atMs: NOW_MS + (at + 1) * 60_000,
      number: 1_000 + Math.round((timeS - first.timeS) / 12),
      timeS,
    };
  });
  return [first, ...more];
}

test('a steady rate gives one time, a changing one a range that contains the truth', () => {
  const steady = estimate(seen(10 * HOUR_S, [11, 11, 11]), BLOCK_MS);
  assert.is(steady.state, 'catching up');
  assert.is(steady.rate, 11);
  // 36,000 s less 10 s for each of the 180 s that have passed, at 10 s a second.
  assert.equal(steady.left, { minMs: 3_420_000, maxMs: 3_420_000 });
  assert.is(leftText(steady), 'about 57 min');
  const changing = estimate(seen(10 * HOUR_S, [21, 6, 11]), BLOCK_MS);
  assert.ok(
    (changing.left?.minMs ?? 0) < 36e6 / 10 && (changing.left?.maxMs ?? 0) > 36e6 / 12,
    JSON.stringify(changing),
  );
  assert.match(leftText(changing), /^\d+ min to \d+ min$|^\d+ min to \d+ h$/);
});

test('a node that gains nothing on the clock gets no time, however far it is', () => {
  const slow = estimate(seen(HOUR_S, [0.8, 0.8]), BLOCK_MS);
  assert.equal({ state: slow.state, left: slow.left }, { state: 'not catching up', left: null });
  assert.is(leftText(slow), 'never at this rate (0.80)');
  assert.is(estimate(seen(HOUR_S, [1, 1]), BLOCK_MS).state, 'not catching up');
  const stops = estimate(seen(HOUR_S, [9, 0]), BLOCK_MS);
  assert.is(stops.left?.maxMs, null, 'a part without progress may come again');
  assert.match(leftText(stops), 'at least');
});

test('ready is only who kept up for two minutes; nothing is known from one look but that', () => {
  assert.is(estimate(seen(5, []), BLOCK_MS).state, 'ready');
  assert.is(estimate(seen(HOUR_S, []), BLOCK_MS).state, 'measuring');
  const arrived = seen(HOUR_S, [61, 1]);
  assert.is(estimate(arrived, BLOCK_MS).state, 'catching up', 'it was behind less than two minutes ago');
  assert.is(estimate(seen(HOUR_S, [61, 1, 1, 1]), BLOCK_MS).state, 'ready');
  assert.is(estimate(seen(37, []), BLOCK_MS).state, 'measuring', 'three blocks of 12 s are 36 s');
  assert.is(estimate(seen(29, []), 450).state, 'ready', 'no chain is judged by less than 30 s');
  const fetching = estimate(seen(5, [1, 1], 'fetches the state'), BLOCK_MS);
  assert.equal({ state: fetching.state, leftText: leftText(fetching) }, { state: 'syncing', leftText: 'unknown' });
});

test('phases: a client that waits, snap sync, healing, and stages', () => {
  assert.match(phaseOf(null, 0) ?? '', 'consensus client');
  assert.match(phaseOf({ currentBlock: '0x0', highestBlock: '0x0' }, 0) ?? '', 'consensus client');
  assert.is(phaseOf(null, 5), null);
  assert.is(phaseOf({ currentBlock: '0x10', highestBlock: '0x20' }, 16), null);
  assert.match(phaseOf({ currentBlock: '0x10', highestBlock: '0x20' }, 0) ?? '', 'block 16 of 32');
  assert.match(phaseOf({ currentBlock: '0x20', highestBlock: '0x20', healingTrienodes: '0x7' }, 0) ?? '', '7 nodes');
  const stages = (...blocks: readonly string[]) => blocks.map((block, at) => ({ name: `S${at}`, block }));
  // reth shows its newest block as the highest, so only its stages tell.
  const reth = { currentBlock: '0x20', highestBlock: '0x20', stages: stages('0x20', '0x08') };
  assert.is(phaseOf(reth, 8), 'stage S1 at block 8 of 32');
  assert.is(phaseOf({ ...reth, stages: stages('0x20', '0x20') }, 32), null);
});

test('all nodes of the settings are looked at, and only if all are ready the exit code is 0', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-node-sync-'));
  const file = join(folder, 'quayside.json');
  const node = await startSimulatedNode({ family: 'evm', seed: 'sync' });
  for (let n = 0; n < 3; n++) node.world.mine();
  const network = { url: node.wsUrl, chain_id: SANDBOX_CHAIN_ID, tokens: sandboxTokens };
  const sync = async (networks: object, ...words: string[]) => {
    writeFileSync(file, JSON.stringify({ networks }));
    const ended = await runQuayside(['network', 'sync', ...words], { QUAYSIDE_CONFIG: file });
    assert.is(ended.err, '');
    return ended;
  };
  try {
    const one = await sync({ sepolia: network }, '--json');
    assert.is(one.code, 0, one.out);
    const [row] = JSON.parse(one.out).networks;
    assert.equal([row.network, row.state, row.head, row.fault], ['test:ethereum', 'ready', 3, null]);
    const both = { sepolia: network, 'bsc-testnet': { ...network, url: 'http://127.0.0.1:9' } };
    const two = await sync(both, '--for', '1s');
    assert.is(two.code, 1);
    assert.match(two.out, /test:ethereum +ready +3 /);
    assert.match(two.out, /test:bsc +no answer +- /);
    assert.match(two.out, /test:bsc: .*127\.0\.0\.1:9/);
    assert.is((await sync(both, 'bsc-testnet', '--url', node.httpUrl)).code, 0);
    assert.is((await runQuayside(['network', 'sync', '--url', node.wsUrl], { QUAYSIDE_CONFIG: file })).code, 2);
  } finally {
    await node.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a table is written in the place of the one before, and no line wraps or commands the terminal', () => {
  let written = '';
  const write = (text: string): boolean => {
    written += text;
    return true;
  };
  const terminal = { isTTY: true, columns: 6, write };
  const { show, end } = openProgress(terminal);
  show('a', 'far too long');
  assert.is(written, 'a\nfar t\n');
  written = '';
  show('\x1b[2J');
  assert.is(written, '\x1b[2A\x1b[J\\u001\n');
  written = '';
  end();
  assert.is(written, '\x1b[1A\x1b[J');
  written = '';
  openProgress({ ...terminal, columns: 0 }).show('a', 'far too long');
  assert.is(written, 'a\nfar too long\n', 'a terminal that knows no width');
});

test.run();
