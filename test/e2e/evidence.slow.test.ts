/**
 * A whole installation on simulated networks makes its certificates at the set time, and by hand.
 */
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
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

const folder = mkdtempSync(join(tmpdir(), 'quayside-evidence-'));
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
  const now: readonly Json[] = await sandbox.tool('networks', 'list');
  return now.every(({ floor }, at) => floor !== null && floor > (begun[at]?.floor ?? 0));
}

/** Starts the sandbox, until it has what a certificate is about, before the minute in which it makes certificates. */
async function startBeforeNight() {
  for (let startMs = START_MS; ; startMs *= 2) {
    const nightMs = Math.ceil((systemClock.nowMs() + startMs) / MINUTE_MS) * MINUTE_MS;
    const nightly = new Date(nightMs).toISOString().slice(11, 16);
    const dataDir = join(folder, `data-${startMs}`);
    const sandbox = sandboxInstallation(dataDir, { ...blocksEvery(BLOCK_MS), QUAYSIDE_EVIDENCE__NIGHTLY: nightly });
    const supervisor = await sandbox.start();
    const begun = await sandbox.tool('networks', 'list');
    await until('there are final blocks', () => haveFinalBlocks(sandbox, begun));
    if (systemClock.nowMs() < nightMs) return { sandbox, dataDir, nightMs };
    await supervisor.end('SIGTERM');
  }
}

test.after(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

test('every network gets a certificate at night; the next one by hand continues it', async () => {
  const { sandbox, dataDir, nightMs } = await startBeforeNight();
  const fileOf = (network: string, sequence = 1): string =>
    join(dataDir, 'evidence', `test-${network}`, `${String(sequence).padStart(6, '0')}.json`);
  const run = async (...words: string[]) => {
    const { code, out, err } = await runQuayside([...words, '--json'], sandbox.variables);
    return { code, json: JSON.parse(out || '{}'), err };
  };
  const paid = await sandbox.createSession();
  assert.is((await run('pay', paid.id, '--network', 'bsc')).code, 0);
  await sandbox.paid(paid.id);
  await wait(Math.max(0, nightMs - systemClock.nowMs()));
  for (const network of networks) {
    await until(`${network} has a certificate`, () => existsSync(fileOf(network)), NIGHT_MS_MAX);
  }
  assert.is(statSync(join(dataDir, 'evidence.key')).mode & 0o777, 0o600);
  const { json: key } = await run('evidence', 'key');
  for (const network of networks) {
    const verified = await run('evidence', 'verify', fileOf(network), '--key', key.public_key);
    assert.is(verified.code, 0, JSON.stringify(verified));
  }
  const { json: status } = await run('status');
  assert.equal(
    status.evidence.map(({ sequence, result, open }: Record<string, unknown>) => ({ sequence, result, open })),
    networks.map(() => ({ sequence: 1, result: 'complete', open: [] })),
  );
  const byHand = await run('evidence', 'bsc', '--out', join(folder, 'copy.json'));
  assert.is(byHand.code, 0, JSON.stringify(byHand));
  assert.is(byHand.json.certificate.sequence, 2);
  const copy = await run('evidence', 'verify', join(folder, 'copy.json'), '--previous', fileOf('bsc'));
  assert.is(copy.code, 0, JSON.stringify(copy));
  assert.is((await run('evidence', 'nowhere')).code, 3);
  assert.is((await run('evidence', 'bsc', '--from', '1', '--to', '999999999')).code, 2);
  assert.is((await run('evidence', 'verify', join(folder, 'none.json'))).code, 3);
});

test.run();
