/**
 * A whole installation on simulated networks compares its final blocks by the program of the night.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Json } from '../support/instance.ts';
import {
  blocksEvery,
  endAll,
  runProgram,
  runQuayside,
  type SandboxInstallation,
  sandboxInstallation,
} from '../support/quayside-process.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-comparison-'));
const networks = ['tron', 'ethereum', 'bsc', 'solana'];
/** Every block is read twice, so there are fewer than in other tests. */
const BLOCK_MS = 500;
/** Returns whether every network has final blocks that were read, above those it began with. */
async function haveFinalBlocks(sandbox: SandboxInstallation, begun: readonly Json[]): Promise<boolean> {
  const now: readonly Json[] = (await sandbox.tool('status')).networks;
  return now.every(({ floor }, at) => floor !== null && floor > (begun[at]?.floor ?? 0));
}

test.after(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

test('the final blocks of every network are compared at night', async () => {
  const sandbox = sandboxInstallation(join(folder, 'data'), blocksEvery(BLOCK_MS));
  await sandbox.start();
  const begun = (await sandbox.tool('status')).networks;
  const paid = await sandbox.createSession();
  await sandbox.tool('pay', paid.id, '--network', 'bsc');
  await sandbox.paid(paid.id);
  await until('there are final blocks', () => haveFinalBlocks(sandbox, begun));
  const night = await runProgram(['indexers/nightly.ts'], sandbox.variables);
  assert.is(night.code, 0, night.stderr);
  const { comparison } = await sandbox.tool('status');
  for (const network of networks) {
    const { differences, blocks } = comparison.find((one: Json) => one.network === `test:${network}`);
    assert.ok(differences === 0 && blocks > 0, network);
  }
  const { code, out } = await runQuayside(['status'], sandbox.variables);
  assert.is(code, 0);
  assert.match(out, /^test:bsc +\d+ +[\d-]+ [\d:]+ +no difference$/m);
});

test.run();
