/** The operator's page of the system: proofs, pools and rates. */
import { dirname } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { rememberBackup, updateBackupReport } from '../../src/app/backup/report.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { rowsOf, textOf, withDashboard } from '../support/dashboard.ts';

const PATH = '/operator/system';

test('drills and checks say when they were proved, by whom, and what failed since', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const mary = await dashboard.person('Mary', { role: 'operator', storeId: null });
    const before = textOf((await mary.get(PATH)).text);
    assert.match(before, 'Last backup never quayside backup');
    assert.match(before, 'Seed drill never proved quayside-signer drill');
    assert.match(before, 'Books check never proved quayside ledger verify');

    const proof = { kind: 'books', atMs: api.clock.nowMs(), ok: true, by: 'root', about: '9 entries add up' } as const;
    await api.database().audit.recordProof(proof);
    api.clock.advance(3 * DAY_MS);
    const joan = await dashboard.person('Joan', { role: 'operator', storeId: null });
    const later = async () => textOf((await joan.get(PATH)).text);
    assert.match(await later(), /Books check \S+ \S+ , 3 days ago , by root : 9 entries add up/);
    await api.database().audit.recordProof({ ...proof, atMs: api.clock.nowMs(), ok: false, about: '2 problems' });
    assert.match(
      await later(),
      /Books check the last one failed .*: 2 problems .* quayside ledger verify .* 3 days ago/,
    );

    const comparison = async () =>
      rowsOf((await joan.get(PATH)).text, 'Final blocks compared with the database')[0]?.State;
    assert.is(await comparison(), 'none yet');
    const compared = { network: 'test:ethereum', from: 90, through: 99, blocks: 10, transfers: 2 } as const;
    const other = { differs: { from: 95, to: 96 }, differences: 2, message: 'the node has one more' };
    await api.database().blocks.recordComparison({ ...compared, ...other, comparedAtMs: api.clock.nowMs() });
    assert.is(await comparison(), 'differences the node has one more');
  }));

test('the last backup and what failed since are on the page', () =>
  withDashboard(async ({ api, person }) => {
    const mary = await person('Mary', { role: 'operator', storeId: null });
    const [made, proved] = [api.clock.nowMs() - 3 * 3_600_000, api.clock.nowMs() - 2 * 3_600_000];
    const dataDir = dirname(api.file);
    rememberBackup(dataDir, { file: 'a.backup', made_at_ms: made, proved_at_ms: proved, sent_at_ms: null });
    updateBackupReport(dataDir, () => ({ failure: { at_ms: proved, message: 'the target is full' } }));
    const { text } = await mary.get(PATH);
    assert.match(textOf(text), /2 hr?\.? ago .*the last one failed the target is full/);
    assert.is(rowsOf(text, 'Deposit address pools')[0]?.Pool, 'evm , test');
    assert.match(text, 'No source is configured');
  }));

test.run();
