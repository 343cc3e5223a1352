/** `quayside network check` on a real geth: what passes, and what is found of versions, open calls and batches. */
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkNode } from '../../scripts/nodes/check.ts';
import { readNetwork } from '../../scripts/nodes/network.ts';
import { type NetworkRecipe, readRecipes } from '../../scripts/nodes/recipe.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { deployToken } from '../support/contracts.ts';
import { startDrivenGeth } from './driven-geth.ts';
import { startGeth } from './geth.ts';
import { GETH_VERSION } from './geth-binary.ts';

const geth = await startDrivenGeth({ chainId: 1, finalDepth: 4, options: ['--rpc.batch-request-limit', '20'] });
test.after(() => geth.close());
const token = await deployToken(geth, { symbol: 'USDT', decimals: 6 });
await geth.mine(30);

const recipe: NetworkRecipe = {
  network: 'ethereum',
  family: 'evm',
  chain_id: '1',
  outage_days: 1,
  history_advice: 'keep more',
  releases: [],
};

async function check(url: string, changes: Partial<NetworkRecipe> = {}) {
  await geth.mine(1);
  const tokens = [{ symbol: 'USDT' as const, address: token.address, decimals: 6 }];
  const network = { ...readNetwork({ env: {}, cwd: '.' }, 'ethereum', url), tokens, blockTimeMs: 1_000 };
  const own = { network, recipe: { ...recipe, ...changes }, headWaitMs: 0, clock: systemClock };
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

test('geth takes the arguments of its unit, and its own first block is the one of the recipe', async () => {
  const unit = readFileSync('scripts/nodes/ethereum/quayside-ethereum-geth.service', 'utf8');
  const [, command = ''] = /^ExecStart=\S+ ((?:.*\\\n)*.*)$/m.exec(unit) ?? [];
  const genesis = readRecipes().find((one) => one.network === 'ethereum')?.genesis;
  // The test has its own ports and folders; this version of geth does not know Prague's cut yet.
  const own = ['--datadir', '--http.port', '--ws.port', '--authrpc.port', '--authrpc.jwtsecret'];
  const given = command.split(/[\s\\]+/).filter(Boolean);
  const args = given
    .filter((word, at) => !own.includes(word) && !own.includes(given[at - 1] ?? ''))
    .map((word) => (word === 'postprague' ? 'postmerge' : word));
  assert.ok(args.includes('--mainnet') && args.includes('--history.chain'));
  const mainnet = await startGeth(null, args);
  try {
    assert.is(await mainnet.rpc('eth_chainId'), '0x1');
    assert.is((await mainnet.rpc<{ hash: string }>('eth_getBlockByNumber', ['0x0', false])).hash, genesis);
  } finally {
    await mainnet.close();
  }
});

test.run();
