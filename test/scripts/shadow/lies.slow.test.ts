/** A node that lies to the follower, or to the second reading: what is found, and what is saved of it. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Family } from '../../../src/chains/chain.ts';
import { type LyingProxy, startLyingProxy } from '../../support/lying-proxy.ts';
import { type ShadowChange, shadowed } from '../../support/shadow-bench.ts';
import { accountKeyOf, type SimulatedNode, startSimulatedNode } from '../../support/simulated-node.ts';
import { simulatedChains, testNetwork } from '../../support/test-network.ts';
import { startTronProxy } from '../../support/tron-proxy.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are changed at will
type Json = any;

const folder = mkdtempSync(join(tmpdir(), 'quayside-shadow-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

const start = (family: Family): Promise<SimulatedNode> =>
  startSimulatedNode({ ...simulatedChains[family], seed: `shadow-lies-${family}` });
const payee = (family: Family, name = 'payee'): string => accountKeyOf(family, name);

/** Mines a block with two payments of the first token, and shadows the node through `url` until it was read. */
async function shadowPaid(node: SimulatedNode, url: string, change: ShadowChange = {}) {
  const { family } = node;
  for (const [at, name] of ['payee', 'stranger'].entries()) node.pay(payee(family, name), 5_000_000n + BigInt(at));
  const { number } = node.world.mine();
  const network = testNetwork({ name: family, family, url, pollMs: 20 });
  const found = await shadowed(network, { keys: [payee(family)], ...change }, (run) => run.read(number));
  return { ...found, number };
}

/** A simulated EVM node behind a proxy. `lies` changes the result of a method. */
async function withLiar(
  lies: (proxy: LyingProxy, node: SimulatedNode) => void,
  work: (node: SimulatedNode, proxy: LyingProxy) => Promise<void>,
): Promise<void> {
  const node = await start('evm');
  const proxy = await startLyingProxy({ httpUrl: node.httpUrl, wsUrl: node.url });
  try {
    lies(proxy, node);
    await work(node, proxy);
  } finally {
    await proxy.close();
    await node.close();
  }
}

const changing =
  (method: string, change: (result: Json) => Json): NonNullable<LyingProxy['lies']['answer']> =>
  (question, answer) =>
    question.method === method && answer.result ? { ...answer, result: change(answer.result) } : answer;

const hideLast = (logs: readonly Json[]): readonly Json[] => (logs.length === 2 ? logs.slice(0, 1) : logs);

test('a node that leaves a transfer out of its logs is found out, and its raw answers are saved', async () => {
  const into = join(folder, 'hidden');
  await withLiar(
    (proxy) => {
      proxy.lies.answer = changing('eth_getLogs', hideLast);
    },
    async (node, proxy) => {
      const { report, lines, isBad, number } = await shadowPaid(node, proxy.wsUrl, { folder: into });
      assert.ok(isBad);
      const [found] = report.differences.listed;
      assert.is(report.differences.count, 1);
      assert.equal([found?.block.number, found?.follower, found?.second?.units], [number, null, '5000001']);
      assert.match(
        lines.join('\n'),
        /DIFFERENCE in block .* the follower’s answer says nothing, the second reading 5\.000001 USDT/,
      );
      assert.match(lines.at(-1) ?? '', /^1 DIFFERENCE\(S\): do not go live/);
      assert.equal(readdirSync(into), [found?.saved]);
      const read = (name: string): string => readFileSync(join(into, found?.saved ?? '', name), 'utf8');
      const about = JSON.parse(read('about.json'));
      assert.equal([about.what, about.block.number, about.differences.length], ['difference', number, 1]);
      assert.is(JSON.parse(read('1-request.txt')).method, 'eth_getLogs');
      assert.is(JSON.parse(read('1-answer.txt')).result.length, 1);
      assert.is(JSON.parse(read('3-request.txt')).method, 'eth_getBlockReceipts');
      assert.is(JSON.parse(read('3-answer.txt')).result.length, 2);
    },
  );
});

test('a transfer that nobody made is found out', async () => {
  const invent = (logs: readonly Json[]): readonly Json[] =>
    logs.length < 2 ? logs : [...logs, { ...logs[1], logIndex: '0x7', data: logs[1].data.replace(/.$/, 'f') }];
  await withLiar(
    (proxy) => {
      proxy.lies.answer = changing('eth_getLogs', invent);
    },
    async (node, proxy) => {
      const { report } = await shadowPaid(node, proxy.wsUrl);
      assert.equal(
        report.differences.listed.map(({ follower, second }) => [follower !== null, second]),
        [[true, null]],
      );
    },
  );
});

test('a node that hides a transfer everywhere is found out by a second node', async () => {
  await withLiar(
    (proxy) => {
      proxy.lies.answer = changing('eth_getLogs', hideLast);
      const { answer: logs } = proxy.lies;
      const receipts = changing('eth_getBlockReceipts', (all) =>
        all.map((one: Json, at: number) => (at === 1 ? { ...one, logs: [] } : one)),
      );
      proxy.lies.answer = (question, answer) => receipts(question, logs?.(question, answer) ?? answer);
    },
    async (node, proxy) => {
      const alone = await shadowPaid(node, proxy.wsUrl);
      assert.equal([alone.report.differences.count, alone.isBad], [0, false]);
      const { report } = await shadowPaid(node, proxy.wsUrl, { secondUrl: node.httpUrl });
      assert.is(report.differences.count, 2, 'one in each of the two blocks');
    },
  );
});

test('a second reading that is wrong for a moment is read again, and is no difference', async () => {
  const into = join(folder, 'moment');
  let lies = 2;
  await withLiar(
    (proxy) => {
      proxy.lies.answer = changing('eth_getBlockReceipts', (all) => {
        if (all.length < 2 || lies-- <= 0) return all;
        return all.map((one: Json) => ({ ...one, logs: [] }));
      });
    },
    async (node, proxy) => {
      const { report, isBad } = await shadowPaid(node, proxy.wsUrl, { folder: into });
      assert.equal([report.differences.count, isBad], [0, false]);
      assert.equal([report.faults.second.second_reading_changed, report.doubted_answers], [1, 1]);
      assert.match(readdirSync(into)[0] ?? '', /-second_reading_changed$/);
    },
  );
});

test('a node without eth_getBlockReceipts is read by transaction', async () => {
  await withLiar(
    (proxy) => {
      proxy.lies.answer = (question, answer) => {
        const error = { code: -32601, message: 'the method eth_getBlockReceipts does not exist/is not available' };
        if (question.method === 'eth_getBlockReceipts') return { jsonrpc: '2.0', id: answer.id, error };
        return question.method === 'eth_getLogs' ? changing('eth_getLogs', hideLast)(question, answer) : answer;
      };
    },
    async (node, proxy) => {
      const { report } = await shadowPaid(node, proxy.wsUrl);
      assert.equal([report.differences.count, report.blocks.uncompared], [1, 0]);
    },
  );
});

test('an info that differs by block and by transaction is found out (tron)', async () => {
  const node = await start('tron');
  const proxy = await startTronProxy(node.url);
  proxy.lies.answer = (path, _body, text) =>
    path === '/wallet/gettransactioninfobyblocknum' ? text.replace(/4c4b40"/g, '4c4b3f"') : text;
  try {
    const into = join(folder, 'info');
    const { report } = await shadowPaid(node, proxy.url, { folder: into });
    const [found] = report.differences.listed;
    const request = (at: number): string => readFileSync(join(into, found?.saved ?? '', `${at}-request.txt`), 'utf8');
    assert.match(request(2), /^\/wallet\/gettransactioninfobyblocknum \{"num":\d+\}$/);
    assert.match(request(5), /^\/wallet\/gettransactioninfobyid /);
    assert.equal([report.differences.count, found?.follower?.units, found?.second?.units], [1, '4999999', '5000000']);
  } finally {
    await proxy.close();
    await node.close();
  }
});

test('a balance that differs between the two forms of a block is found out (solana)', async () => {
  const node = await start('solana');
  const proxy = await startLyingProxy({ httpUrl: node.httpUrl, wsUrl: node.url });
  proxy.lies.answer = (question, answer) => {
    const [, settings] = question.params as readonly [unknown, Json];
    if (question.method !== 'getBlock' || settings.transactionDetails !== 'accounts') return answer;
    const paid = (answer.result as Json)?.transactions?.at(-1);
    if (paid) paid.meta.postTokenBalances = paid.meta.postTokenBalances.slice(0, 1);
    return answer;
  };
  try {
    const { report } = await shadowPaid(node, proxy.httpUrl);
    assert.ok(report.differences.count > 0);
    assert.is(report.differences.listed[0]?.follower, null);
  } finally {
    await proxy.close();
    await node.close();
  }
});

test.run();
