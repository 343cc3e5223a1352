/**
 * `quayside network check` and `network sync` on a real geth: what passes, what is found of versions, open calls and
 * batches, and a chain that is imported while its progress is watched.
 */
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkNode } from '../../scripts/nodes/check.ts';
import { readNetwork } from '../../scripts/nodes/network.ts';
import { type NetworkRecipe, readRecipes } from '../../scripts/nodes/recipe.ts';
import { openSyncWatch, type SyncRow } from '../../scripts/nodes/sync-watch.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { deployToken } from '../support/contracts.ts';
import { runQuayside } from '../support/quayside-process.ts';
import { startDrivenGeth } from './driven-geth.ts';
import { openEngine } from './engine.ts';
import { makeGenesis } from './genesis.ts';
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
  const own = {
    network,
    recipe: { ...recipe, ...changes },
    headWaitMs: 0,
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

test('while geth imports six hours of blocks, its rate and time left are shown, and in the end it is ready', async () => {
  const BLOCKS = 120;
  const STEP_S = 180;
  const importing = await startGeth(makeGenesis(1, []));
  const engine = openEngine(importing);
  let timeS = Math.floor(Date.now() / 1000) - BLOCKS * STEP_S;
  let head = (await importing.rpc<{ hash: string }>('eth_getBlockByNumber', ['0x0', false])).hash;
  async function importNext(): Promise<void> {
    const { payload, requests } = await engine.build({ head, final: null }, timeS, 'at once');
    await engine.insert({ payload, requests });
    head = payload.blockHash;
    timeS = Math.min(timeS + STEP_S, Math.floor(Date.now() / 1000));
    await engine.choose({ head, final: null });
  }
  const watch = await openSyncWatch(readNetwork({ env: {}, cwd: '.' }, 'ethereum', importing.wsUrl), systemClock);
  const seen: SyncRow[] = [];
  try {
    const waiting = await watch.look();
    assert.match(
      waiting.sample?.phase ?? '',
      'waits for its consensus client',
      `${waiting.fault} ${JSON.stringify(waiting.sample)}`,
    );
    for (let block = 1; block <= BLOCKS; block++) {
      await importNext();
      if (block % 10 === 0) seen.push(await watch.look());
    }
    const states = seen.map(({ estimate }) => estimate?.state);
    assert.is(states[2], 'catching up', JSON.stringify(states));
    const behind = seen.map(({ estimate }) => estimate?.behindS ?? 0);
    assert.equal(
      behind,
      [...behind].sort((one, other) => other - one),
      'it is less and less behind',
    );
    const { rate, left } = seen[5]?.estimate ?? {};
    assert.ok(Number(rate) > 10 && left && left.minMs > 0, JSON.stringify(seen[5]?.estimate));
    timeS = Math.floor(Date.now() / 1000);
    await importNext();
    const command = ['network', 'sync', 'ethereum', '--url', importing.httpUrl, '--json'];
    const { code, out } = await runQuayside(command, {});
    assert.is(code, 0, out);
    assert.is(JSON.parse(out).networks[0].head, BLOCKS + 1);
  } finally {
    await watch.close();
    await importing.close();
  }
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
