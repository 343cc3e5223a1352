/**
 * A shadow of a real geth: transfers of every kind in each block, forks, a chain that goes back, cut connections and a
 * kill; no difference. And one that is there, because something between them changes an answer.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { NetworkConfig } from '../../src/config/network.ts';
import { deployBatchSender, deployFeeToken, deployLookAlike, deployToken } from '../support/contracts.ts';
import { startLyingProxy } from '../support/lying-proxy.ts';
import { shadowed } from '../support/shadow-bench.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { testNetwork } from '../support/test-network.ts';
import { until } from '../support/until.ts';
import { startDrivenGeth } from './driven-geth.ts';

const FEE_BASIS_POINTS = 20n;

const geth = await startDrivenGeth({ chainId: 1, isForgetful: true });
const usdt = await deployFeeToken(geth, { symbol: 'USDT', decimals: 6 });
const usdc = await deployToken(geth, { symbol: 'USDC', decimals: 18 });
const batch = await deployBatchSender(geth);
const lookAlike = await deployLookAlike(geth);
const [owner = '', delegate = '', , poor = ''] = geth.accounts;
const payees = Array.from({ length: 8 }, (_, at) => (at + 1).toString(16).padStart(40, 'a'));
let sent = 0;
test.after(() => geth.close());
test.before(async () => {
  for (const token of [usdt, usdc]) {
    for (const spender of [batch.address, delegate]) await token.approve(spender, 10n ** 26n);
  }
  await usdt.transfer(batch.address, 1_000n);
  await usdt.setFee(FEE_BASIS_POINTS, 50_000_000n);
  await geth.mine();
});

const networkAt = (url: string): NetworkConfig =>
  testNetwork({
    name: 'geth',
    url,
    chainId: '1',
    tokens: [
      { symbol: 'USDT', address: usdt.address, decimals: 6 },
      { symbol: 'USDC', address: usdc.address, decimals: 18 },
    ],
    reorgDepthMax: 40,
  });

const next = (): string => `0x${payees[sent++ % payees.length]}`;

/** Moves money in every way, and in some that are none, and mines. */
async function mineBusy(blocks: number): Promise<void> {
  for (let left = blocks; left > 0; left--) {
    await usdt.transfer(next(), 1_000_000n + BigInt(sent));
    await usdc.transfer(next(), 10n ** 18n);
    await usdc.transferFrom(owner, next(), 5n, { from: delegate });
    await batch.sendFromCaller(usdc.address, [
      [next(), 11n],
      [next(), 12n],
    ]);
    await batch.sendOwnUndoneInside(usdt.address, [[next(), 3n]]);
    await usdt.transfer(next(), 7n, { from: poor });
    await lookAlike.claimTransfer(owner, next(), 99n);
    await usdt.transfer(next(), 0n);
    await geth.mine();
  }
}
/** A geth that was just given blocks counts transactions by its pool's older head for a moment. */
const untilPoolIsLevel = (): Promise<void> =>
  until('the pool is level with the chain', async () => {
    const counts = (tag: string) =>
      Promise.all(geth.accounts.map((one) => geth.rpc<string>('eth_getTransactionCount', [one, tag])));
    return (await counts('pending')).join() === (await counts('latest')).join();
  });
const tip = async (): Promise<number> => (await geth.head()).number;

test('forks, a chain that goes back, cuts and a kill make no difference', async () => {
  // A killed geth comes back on the head at which it was last stopped.
  await geth.stop();
  await geth.start();
  const proxy = await startTcpProxy(geth.port);
  const network = networkAt(`ws://127.0.0.1:${proxy.port}`);
  try {
    const { report, lines, isBad } = await shadowed(network, { keys: payees, sampleEvery: 3 }, async (run) => {
      const mineAndRead = async (blocks: number) => {
        await mineBusy(blocks);
        await run.read(await tip());
      };
      await mineAndRead(4);
      for (const [depth, fill] of [
        [1, 'all'],
        [3, 'rivals'],
        [2, 'nothing'],
      ] as const) {
        await geth.adopt(await geth.branch(depth, { blocks: depth + 1, fill }));
        await geth.mine();
        await untilPoolIsLevel();
        await mineAndRead(2);
      }
      await geth.setHead((await tip()) - 2);
      await untilPoolIsLevel();
      await mineAndRead(4);
      proxy.cut();
      await mineAndRead(2);
      await geth.kill();
      await geth.start();
      await geth.replay();
      await untilPoolIsLevel();
      await mineAndRead(2);
    });
    assert.equal(report.differences.listed, []);
    assert.not.ok(isBad, lines.join('\n'));
    assert.equal([report.reorgs.count, report.blocks.uncompared], [4, 0]);
    assert.ok(report.transfers.all >= 50 && report.transfers.watched >= 50, lines.join('\n'));
    assert.ok(report.transfers.confirmed > 0);
    assert.ok((report.faults.follower.node_unreachable ?? 0) > 0);
  } finally {
    await proxy.close();
  }
});

test('a log that is left out between geth and Quayside is found by its receipts', async () => {
  const proxy = await startLyingProxy(geth);
  proxy.lies.answer = ({ method }, answer) => {
    const logs = answer.result as readonly unknown[];
    return method === 'eth_getLogs' && logs.length > 2 ? { ...answer, result: logs.slice(1) } : answer;
  };
  try {
    const { report } = await shadowed(networkAt(proxy.wsUrl), { keys: payees }, async (run) => {
      await mineBusy(2);
      await run.read(await tip());
    });
    assert.ok(report.differences.count >= 2);
    assert.ok(report.differences.listed.every(({ follower, second }) => follower === null && second !== null));
  } finally {
    await proxy.close();
  }
});

test.run();
