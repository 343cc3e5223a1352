import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { watchEvidence } from '../../../src/app/watches/evidence.ts';
import { openArchive } from '../../../src/evidence/archive.ts';
import { openListWriter } from '../../../src/evidence/block-list.ts';
import { FORMAT } from '../../../src/evidence/certificate.ts';
import { openSigningKey } from '../../../src/evidence/signing-key.ts';
import { type HandClock, handClock } from '../../support/hand-clock.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { testNetwork } from '../../support/test-network.ts';
import { watched } from '../../support/watched.ts';

const HOUR_MS = 3_600_000;
const networks = [testNetwork({ name: 'one' }), testNetwork({ name: 'two' })];

/** Keeps a certificate that was made now. */
async function certify(dataDir: string, clock: HandClock): Promise<void> {
  const archive = openArchive(dataDir, 'test:one');
  const list = openListWriter(archive.draftFile);
  await list.write({ kind: 'block', number: 1, hash: 'h', parent: 'p', timeS: 1 });
  const totals = await list.close();
  const block = { number: 1, hash: 'h', parent: 'p', time_s: 1 };
  archive.keep(
    {
      format: FORMAT,
      release: '1',
      network: 'test:one',
      chain_id: '1',
      node: 'node',
      made_at: new Date(clock.nowMs()).toISOString(),
      range: { from: 1, to: 1, blocks: 1, first: block, last: block },
      stored_blocks: 0,
      transfers: totals.transfers,
      payouts: totals.payouts,
      balances: { state: 'left_out', why: 'a test' },
      list: totals.list,
      differences: { count: 0, listed: [] },
      result: 'complete',
    },
    openSigningKey(dataDir),
  );
}

test('a network without a certificate for two nights raises an alarm, which ends with the next one', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'quayside-watch-'));
  const { database, close } = openTempDatabase();
  const clock = handClock();
  const evidence = { nightly: '02:15', except: ['two'] };
  const bench = watched(watchEvidence({ dataDir, networks, evidence }), database, clock);
  try {
    assert.equal(await bench.look(), []);
    assert.equal(await bench.after(48 * HOUR_MS), [], 'the first night may be yet to come');
    await certify(dataDir, clock);
    assert.equal(await bench.after(48 * HOUR_MS), []);
    assert.equal(await bench.after(2 * HOUR_MS), ['evidence_stale']);
    await certify(dataDir, clock);
    assert.equal(await bench.after(HOUR_MS, HOUR_MS / 4), []);
    const folder = join(dataDir, 'evidence', 'test-one');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, '000003.json'), 'damaged');
    assert.equal(await bench.after(HOUR_MS), ['evidence_stale'], 'nothing can continue a file that is damaged');
  } finally {
    close();
    rmSync(dataDir, { recursive: true, force: true });
  }
});

test('nothing is watched where no certificates are wanted', async () => {
  const { database, close } = openTempDatabase();
  const clock = handClock();
  const evidence = { nightly: null, except: [] };
  const bench = watched(watchEvidence({ dataDir: '/nowhere', networks, evidence }), database, clock);
  try {
    await bench.look();
    assert.equal(await bench.after(100 * HOUR_MS), []);
  } finally {
    close();
  }
});

test.run();
