/** A shadow of a simulated node of each family: whatever an honest node goes through is no difference. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Family } from '../../../src/chains/chain.ts';
import type { FaultRates } from '../../../src/sandbox/faults.ts';
import { shadowed } from '../../support/shadow-bench.ts';
import { accountKeyOf, type SimulatedNode, startSimulatedNode } from '../../support/simulated-node.ts';
import { simulatedChains, testNetwork } from '../../support/test-network.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-shadow-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

const families = Object.keys(simulatedChains) as Family[];
/** Low, because a step of many requests fails if one of them does, and the follower then waits. */
const kindsOfFaults = ['rpc_error', 'cut', 'lag', 'unknown_block', 'empty_content', 'sibling_content'] as const;
const rates: FaultRates = Object.fromEntries(kindsOfFaults.map((kind) => [kind, 0.01]));
const kinds = ['direct', 'contract', 'failed', 'lookalike', 'fee', 'delegated'] as const;
const BLOCKS = 40;
/** Payments in one block: its answer is longer than what is decoded in-line, in each family. */
const LARGE = 800;

const start = (family: Family, seed: string): Promise<SimulatedNode> =>
  startSimulatedNode({ ...simulatedChains[family], seed });
const networkOf = ({ family, url, httpUrl }: SimulatedNode) =>
  testNetwork({ name: family, family, url, pollMs: 20, ...(family === 'solana' && { rpcUrl: httpUrl }) });

/** Payments of every kind to `payee`, and some between strangers, in each block. */
function mineBlocks(node: SimulatedNode, payee: string, blocks: number): void {
  for (let at = 0; at < blocks; at++) {
    node.pay(payee, 1_000_000n + BigInt(at), kinds[at % kinds.length]);
    node.world.mine(3);
  }
}

for (const family of families) {
  test(`${family}: reorgs and temporary faults, and no difference`, async () => {
    const node = await start(family, `shadow-${family}`);
    const payee = accountKeyOf(family, 'payee');
    try {
      mineBlocks(node, payee, BLOCKS);
      const { report, lines, isBad } = await shadowed(
        networkOf(node),
        { keys: [payee], sampleEvery: 2 },
        async (run) => {
          await run.read(node.world.tip().number);
          node.faults.set({ rates });
          for (const depth of [1, 3]) {
            mineBlocks(node, payee, BLOCKS / 4);
            await run.read(node.world.tip().number);
            node.world.reorg({ depth, blocks: depth + 1, keep: 'some' });
            await run.read(node.world.tip().number);
          }
          node.faults.heal();
          mineBlocks(node, payee, BLOCKS / 4);
          await run.read(node.world.tip().number);
        },
      );
      assert.equal(report.differences.listed, []);
      assert.not.ok(isBad, lines.join('\n'));
      assert.is(report.ended, 'stopped');
      assert.is(report.blocks.read, report.blocks.compared + report.blocks.replaced);
      assert.ok(report.blocks.compared >= BLOCKS);
      assert.ok(report.transfers.all > report.transfers.watched && report.transfers.watched > BLOCKS / 2);
      assert.ok(report.transfers.confirmed > BLOCKS / 4);
      assert.ok(report.addresses.sampled > 0 && report.addresses.watched > report.addresses.sampled);
      assert.equal([report.reorgs.count, report.reorgs.depth_max], [2, 3]);
      assert.ok(report.latency_ms && report.latency_ms.p50 <= report.latency_ms.p95);
      assert.ok(report.traffic.follower.bytes > 0 && report.traffic.second.bytes > 0);
      assert.ok(Object.keys(report.faults.follower).length > 0);
      assert.match(lines.at(-1) ?? '', /^no difference$/);
    } finally {
      await node.close();
    }
  });
}

for (const family of families) {
  test(`${family}: answers so large that threads decode them are compared too`, async () => {
    const node = await start(family, `shadow-large-${family}`);
    try {
      node.world.mine(LARGE);
      const { report, lines } = await shadowed(networkOf(node), {}, (run) => run.read(node.world.tip().number));
      assert.equal([report.blocks.compared, report.transfers.all], [2, LARGE], lines.join('\n'));
    } finally {
      await node.close();
    }
  });
}

test('a reorg below the final block halts the run, which then ends and is not good', async () => {
  const node = await start('evm', 'shadow-halt');
  try {
    mineBlocks(node, accountKeyOf('evm', 'payee'), 100);
    const { report, lines, isBad } = await shadowed(networkOf(node), { folder }, async (run) => {
      await run.read(node.world.tip().number);
      node.world.reorg({ depth: 40, blocks: 41, keep: 'none', breakFinality: true });
      await new Promise(() => {});
    });
    assert.equal([report.ended, report.halted?.code, isBad], ['halted', 'reorg_below_floor', true]);
    assert.match(lines.join('\n'), /The follower HALTED/);
    const [saved = ''] = readdirSync(folder).filter((name) => name.endsWith('-reorg_below_floor'));
    assert.ok(readdirSync(join(folder, saved)).includes('1-answer.txt'), 'with the answers that led to it');
  } finally {
    await node.close();
  }
});

test.run();
