/**
 * `quayside network check` against simulated nodes of all families that are right, and wrong in one way each; and the
 * recipes. `SHOW=1` prints what people see. `test/nodes/check.test.ts` checks a real geth.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkNode } from '../../scripts/nodes/check.ts';
import { readNetwork } from '../../scripts/nodes/network.ts';
import { readRecipes, recipeOf } from '../../scripts/nodes/recipe.ts';
import { compareVersions, releaseFindings } from '../../scripts/nodes/release-findings.ts';
import { progressText, type RepeatedCheck, repeatCheck } from '../../scripts/nodes/repeated-check.ts';
import { readVersion } from '../../scripts/nodes/software.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { type Lie, startLiar } from '../support/liar.ts';
import { runQuayside } from '../support/quayside-process.ts';
import {
  accountKey,
  SANDBOX_CHAIN_ID,
  SOLANA_CHAIN_ID,
  sandboxTokens,
  solanaTokens,
  startSimulatedNode,
  TRON_CHAIN_ID,
  tronTokens,
} from '../support/simulated-node.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-node-check-'));
const file = join(folder, 'quayside.json');
const variables = { QUAYSIDE_CONFIG: file };
writeFileSync(
  file,
  JSON.stringify({
    networks: {
      sepolia: { chain_id: SANDBOX_CHAIN_ID, tokens: sandboxTokens, block_time_ms: 1000 },
      'tron-nile': { chain_id: TRON_CHAIN_ID, tokens: tronTokens },
      'solana-devnet': { chain_id: SOLANA_CHAIN_ID, tokens: solanaTokens },
    },
  }),
);
const node = await startSimulatedNode({ family: 'evm', seed: 'check', finalityDistance: 2 });
const minePaid = () => {
  node.pay(accountKey('anybody'), 5_000_000n);
  node.world.mine();
};
for (let n = 0; n < 60; n++) n < 40 ? node.world.mine() : minePaid();
const liar = await startLiar(node);
const mining = setInterval(minePaid, 1_000);
test.after(async () => {
  clearInterval(mining);
  await liar.close();
  await node.close();
  rmSync(folder, { recursive: true, force: true });
});

type Check = Readonly<{ check: string; severity: string; text: string; next?: string }>;

async function check(network: string, url: string, ...words: string[]) {
  const command = ['network', 'check', network, '--url', url, ...words, '--json'];
  const { code, out, err } = await runQuayside(command, variables);
  assert.is(err, '');
  const checks: Check[] = JSON.parse(out).checks;
  return { code, checks, bad: checks.filter(({ severity }) => severity !== 'ok') };
}

const hideLogs: Lie = (method) => (method === 'eth_getLogs' ? [] : undefined);

/** Asserts that exactly one thing is wrong with the node, and that a remedy is named. */
async function assertOnly(severity: string, name: string, text: RegExp, next: RegExp): Promise<void> {
  const { code, bad } = await check('sepolia', liar.wsUrl);
  assert.equal(
    bad.map((one) => `${one.severity} ${one.check}`),
    [`${severity} ${name}`],
    JSON.stringify(bad),
  );
  assert.is(code, severity === 'error' ? 2 : 1);
  assert.match(bad[0]?.text ?? '', text);
  assert.match(bad[0]?.next ?? '', next);
}

test('a node that serves everything passes every check, over WebSocket and over HTTP', async () => {
  const { code, checks, bad } = await check('sepolia', node.wsUrl);
  assert.equal({ code, bad }, { code: 0, bad: [] });
  const areas = 'identity version head transfers history final batches push';
  assert.equal(checks.map((one) => one.check).join(' '), areas);
  const text = checks.map((one) => one.text).join('\n');
  assert.match(text, 'Geth/v1.16.9');
  assert.match(text, /[1-9] in the newest 3 blocks, the same in both readings/);
  assert.match(text, 'takes 32 calls in one batch');
  assert.match(text, 'announced a new block');
  const polled = await check('sepolia', node.httpUrl);
  assert.equal({ code: polled.code, bad: polled.bad }, { code: 0, bad: [] });
});

test('nodes of the other families pass the same checks', async () => {
  const tron = await startSimulatedNode({ family: 'tron', seed: 'check', finalityDistance: 2 });
  const solana = await startSimulatedNode({ family: 'solana', seed: 'check', finalityDistance: 2 });
  try {
    for (const { world } of [tron, solana]) for (let n = 0; n < 5; n++) world.mine();
    for (const [network, url] of [
      ['tron-nile', tron.url],
      ['solana-devnet', solana.httpUrl],
    ] as const) {
      const { checks } = await check(network, url);
      assert.equal(
        checks.filter(({ severity }) => severity === 'error'),
        [],
        network,
      );
      for (const name of ['identity', 'head', 'transfers', 'history', 'final'])
        assert.ok(
          checks.some((one) => one.check === name && one.severity === 'ok'),
          `${network}: ${name}`,
        );
    }
  } finally {
    await Promise.all([tron.close(), solana.close()]);
  }
});

test('a check that is repeated says how often it found something', async () => {
  const { code, out, err } = await runQuayside(
    ['network', 'check', 'sepolia', '--url', node.wsUrl, '--for', '1s', '--json'],
    variables,
  );
  assert.equal({ code, err }, { code: 0, err: '' });
  const { rounds, seconds, checks } = JSON.parse(out);
  assert.ok(rounds >= 1 && seconds >= 1, out);
  assert.is(checks.length, 8, out);
  assert.ok(
    checks.every((one: { times: number; last_at: string }) => one.times === rounds && one.last_at > '2026'),
    out,
  );
});

test('what is wrong in one check of several is kept, and stands before what is right', async () => {
  const network = readNetwork({ env: variables, cwd: folder }, 'sepolia', liar.httpUrl);
  const options = { network, recipe: null, oldestOf: () => 50, headWaitMs: 0, clock: systemClock };
  const stop = new AbortController();
  const seen: RepeatedCheck[] = [];
  const last = await repeatCheck({
    check: () => checkNode(options),
    forMs: 3_600_000,
    // Pauses are skipped.
    clock: { nowMs: systemClock.nowMs, sleep: async () => {} },
    stop: stop.signal,
    onRound(soFar) {
      seen.push(soFar);
      if (soFar.rounds === 1) liar.tell(hideLogs);
      if (soFar.rounds === 2) liar.heal();
      if (soFar.rounds === 3) stop.abort();
    },
  });
  const inTransfers = (check: RepeatedCheck | undefined) =>
    check?.findings.filter(({ area }) => area === 'transfers').map(({ severity, times }) => `${severity} ${times}`);
  assert.equal(seen.map(inTransfers), [['ok 1'], ['error 1'], ['error 1']]);
  assert.is(last, seen[2]);
  assert.is(last.findings[0]?.severity, 'error');
  assert.ok((last.findings[0]?.lastMs ?? 0) < (last.findings.find(({ area }) => area === 'head')?.lastMs ?? 0));
  assert.match(progressText(last, 3_600_000), /of 60\.0 min, 3 checks, errors: [12], warnings: 0/);
});

test('a node of another chain, and one that does not answer, are refused at once', async () => {
  node.faults.set({ rates: { wrong_chain: 1 } });
  await assertOnly('error', 'identity', /expected a node of chain 900001/, /docs\/networks\.md/);
  node.faults.heal();
  const nothing = await check('sepolia', 'ws://127.0.0.1:9');
  assert.equal({ code: nothing.code, bad: nothing.bad.map((one) => one.check) }, { code: 2, bad: ['identity'] });
});

test('history that ends too early', async () => {
  const young = await startSimulatedNode({ family: 'evm', seed: 'young', finalityDistance: 2, windowBlocks: 40 });
  try {
    for (let n = 0; n < 60; n++) young.world.mine();
    const network = readNetwork({ env: variables, cwd: folder }, 'sepolia', young.httpUrl);
    const all = await checkNode({ network, recipe: null, oldestOf: () => 8, headWaitMs: 0, clock: systemClock });
    const [found] = all.filter(({ area }) => area === 'history');
    assert.is(found?.severity, 'error');
    assert.match(found?.text ?? '', /does not serve block 8, which is needed after a long outage: /);
    assert.match(found?.next ?? '', 'fallback_url');
  } finally {
    await young.close();
  }
});

test('a node that hides logs, has no final block, or takes small batches only', async () => {
  liar.tell(hideLogs);
  const hides = await check('sepolia', liar.wsUrl);
  assert.is(hides.code, 2);
  assert.ok(
    hides.bad.some((one) => one.check === 'transfers'),
    JSON.stringify(hides.bad),
  );
  liar.heal();
  // More than a final block needs there.
  for (let n = 0; n < 10; n++) minePaid();
  node.faults.set({ rates: { finality_missing: 1 } });
  await assertOnly('error', 'final', /shows no final block/, /consensus client/);
  node.faults.heal();
  node.faults.set({ rates: { batch_limited: 1 } });
  await assertOnly('warning', 'batches', /refuses a batch of 32 calls/, /batch-request-limit/);
  node.faults.heal();
});

test('a token that is younger than the final block is nothing wrong', async () => {
  let final: unknown = null;
  liar.tell((method, asked) => {
    const block = asked?.[1];
    if (method !== 'eth_call' || block === 'latest') return undefined;
    final ??= block;
    return block === final ? '0x' : undefined;
  });
  const { bad, checks } = await check('sepolia', liar.wsUrl);
  assert.equal(bad, []);
  assert.match(JSON.stringify(checks), /final up to \d+, where not every token is yet/);
  liar.heal();
});

test('a node that announces nothing', async () => {
  const network = readNetwork({ env: variables, cwd: folder }, 'sepolia', liar.wsUrl);
  const options = { network, recipe: null, oldestOf: () => 50, headWaitMs: 1_500, clock: systemClock };
  node.faults.set({ rates: { push_lost: 1 } });
  const bad = (await checkNode(options)).filter(({ severity }) => severity !== 'ok');
  assert.equal(
    bad.map(({ area, severity }) => `${severity} ${area}`),
    ['warning push'],
  );
  node.faults.heal();
});

test('versions: too old now, too old after the next fork, new enough, and unknown', () => {
  assert.ok(compareVersions('1.10.0', '1.9.9') > 0);
  assert.ok(compareVersions('4.8.2', '4.8.2.4') < 0);
  assert.is(compareVersions('2.0', '2.0.0'), 0);
  const text = 'Geth/v1.8.1-abc/linux-amd64/go1.25';
  assert.equal(readVersion(text), { client: 'geth', version: '1.8.1', text });
  const releases = (chainId: string, family: 'evm' | 'tron') =>
    recipeOf(readRecipes(), { chainId, family })?.releases ?? [];
  const judge = (said: string, at: string) =>
    releaseFindings(readVersion(said), releases('56', 'evm'), Date.parse(at)).map(({ severity }) => severity);
  assert.equal(judge('Geth/v1.8.1', '2026-12-08T02:29:59Z'), ['warning']);
  assert.equal(judge('Geth/v1.8.1', '2026-12-08T02:30:00Z'), ['error']);
  assert.equal(judge('Geth/v1.8.2', '2026-12-08T02:30:00Z'), ['ok']);
  assert.equal(judge('erigon/3.8.1', '2026-12-08T02:30:00Z'), ['warning']);
  assert.equal(judge('', '2026-12-08T02:30:00Z'), ['warning']);
  const java = { client: 'java-tron', version: '4.8.2.3', text: 'java-tron 4.8.2.3' };
  const [found] = releaseFindings(java, releases('728126428', 'tron'), Date.parse('2026-11-23T00:00:00Z'));
  assert.is(found?.severity, 'error');
});

test('wrong words are refused', async () => {
  for (const [code, ...words] of [
    [2, 'ethereum', '--url', 'ftp://x'],
    [2, 'ethereum'],
    [3, 'nowhere', '--url', node.wsUrl],
    [2, 'sepolia', '--url', node.wsUrl, '--for', '8d'],
  ] as const)
    assert.is((await runQuayside(['network', 'check', ...words], variables)).code, code, words.join(' '));
});

test.run();
