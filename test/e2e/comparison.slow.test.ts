/**
 * A whole installation on simulated networks compares its final blocks at the set time.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';
import type { Json } from '../support/instance.ts';
import {
  blocksEvery,
  endAll,
  runQuayside,
  type SandboxInstallation,
  sandboxInstallation,
} from '../support/quayside-process.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-comparison-'));
const networks = ['tron', 'ethereum', 'bsc', 'solana'];
/** Every block until the night is read twice, so there are fewer than in other tests. */
const BLOCK_MS = 500;
const MINUTE_MS = 60_000;
/** Doubled where everything takes longer to start. */
const START_MS = 45_000;
/** The program has a low priority: while other tests take all of the processor, it gets a fraction of a core. */
const NIGHT_MS_MAX = 480_000;

/** Returns whether every network has final blocks that were read, above those it began with. */
async function haveFinalBlocks(sandbox: SandboxInstallation, begun: readonly Json[]): Promise<boolean> {
  const now: readonly Json[] = (await sandbox.tool('status')).networks;
  return now.every(({ floor }, at) => floor !== null && floor > (begun[at]?.floor ?? 0));
}

/** Starts the sandbox, until it has final blocks, before the minute in which it compares them. */
async function startBeforeNight() {
  for (let startMs = START_MS; ; startMs *= 2) {
    const nightMs = Math.ceil((systemClock.nowMs() + startMs) / MINUTE_MS) * MINUTE_MS;
    const nightly = new Date(nightMs).toISOString().slice(11, 16);
    const dataDir = join(folder, `data-${startMs}`);
    const sandbox = sandboxInstallation(dataDir, { ...blocksEvery(BLOCK_MS), QUAYSIDE_COMPARISON__NIGHTLY: nightly });
    const supervisor = await sandbox.start();
    const begun = (await sandbox.tool('status')).networks;
    await until('there are final blocks', () => haveFinalBlocks(sandbox, begun));
    if (systemClock.nowMs() < nightMs) return { sandbox, nightMs };
    await supervisor.end('SIGTERM');
  }
}

test.after(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

test('the final blocks of every network are compared at night', async () => {
  const { sandbox, nightMs } = await startBeforeNight();
  const paid = await sandbox.createSession();
  await sandbox.tool('pay', paid.id, '--network', 'bsc');
  await sandbox.paid(paid.id);
  await wait(Math.max(0, nightMs - systemClock.nowMs()));
  for (const network of networks) {
    const compared = async () => {
      const { comparison } = await sandbox.tool('status');
      return comparison.find((one: Json) => one.network === `test:${network}` && one.compared_at !== null);
    };
    await until(`${network} is compared`, async () => Boolean(await compared()), NIGHT_MS_MAX);
    const { differences, blocks } = await compared();
    assert.ok(differences === 0 && blocks > 0, network);
  }
  const { code, out } = await runQuayside(['status'], sandbox.variables);
  assert.is(code, 0);
  assert.match(out, /compared test:bsc: through block \d+ at [\d-]+ [\d:]+, no difference/);
});

test.run();
