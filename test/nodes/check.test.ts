/**
 * `quayside node check` against a real geth: one that passes, and what it finds of versions, open calls, keys, batches
 * and pruned history.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkNode } from '../../scripts/nodes/check.ts';
import type { NetworkRecipe } from '../../scripts/nodes/recipe.ts';
import { readNetwork } from '../../scripts/shadow/network.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { deployToken } from '../support/contracts.ts';
import { startDrivenGeth } from './driven-geth.ts';
import { GETH_VERSION } from './geth-binary.ts';

const geth = await startDrivenGeth({ chainId: 1, finalDepth: 4, options: ['--rpc.batch-request-limit', '20'] });
test.after(() => geth.close());
const token = await deployToken(geth, { symbol: 'USDT', decimals: 6 });
await geth.mine(30);

const recipe: NetworkRecipe = {
  kind: 'network',
  network: 'ethereum',
  family: 'evm',
  chain_id: '1',
  outage_days: 1,
  history_advice: 'keep more',
  private_ports: [],
  releases: [],
};

async function check(url: string, changes: Partial<NetworkRecipe> = {}) {
  await geth.mine(1);
  const tokens = [{ symbol: 'USDT' as const, address: token.address, decimals: 6 }];
  const network = { ...readNetwork({ env: {}, cwd: '.' }, 'ethereum', url), tokens, blockTimeMs: 1_000 };
  const own = {
    network,
    recipe: { ...recipe, ...changes },
    headWaitMs: 0,
    addresses: ['127.0.0.2'],
    clock: systemClock,
  };
  const found = await checkNode({ ...own, oldestOf: () => 0 });
  return { found, bad: found.filter(({ severity }) => severity !== 'ok') };
}

const first = async () => (await geth.rpc<{ hash: string }>('eth_getBlockByNumber', ['0x0', false])).hash;
const source = { text: 'this test', date: '2026-11-23' };

test('a geth passes but for its small batches, and its version and first block are recognised', async () => {
  const { found, bad } = await check(geth.wsUrl, {
    genesis: await first(),
    releases: [{ client: 'geth', version_min: GETH_VERSION, why: 'none', source }],
  });
  assert.equal(
    bad.map(({ area, severity }) => `${severity} ${area}`),
    ['warning peers', 'warning batches'],
    JSON.stringify(bad),
  );
  const texts = found.map(({ text }) => text).join('\n');
  assert.match(texts, `Geth/v${GETH_VERSION}`);
  assert.match(texts, 'the first block is the right one');
  assert.match(texts, 'history back to block 0');
  assert.match(texts, 'announces new blocks');
});

test('a version that is too old, another first block, and debug calls over HTTP are found', async () => {
  const old = { client: 'geth', version_min: '99.0', fork: 'Example', why: 'it ends', source };
  const { bad } = await check(geth.httpUrl, { releases: [old] });
  const named = bad.map(({ area, severity }) => `${severity} ${area}`);
  assert.equal(named, ['error version', 'warning peers', 'warning apis', 'warning batches'], JSON.stringify(bad));
  assert.match(bad[0]?.text ?? '', 'Example needs 99.0');
  assert.match(bad[2]?.text ?? '', /answers calls of debug,/);
  const other = await check(geth.wsUrl, { genesis: `0x${'12'.repeat(32)}` });
  assert.equal(
    other.bad.map(({ area }) => area),
    ['genesis'],
  );
});

test.run();
