/** The operator's page of the system: backups, pools and rates. */
import { dirname } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { rememberBackup, updateBackupReport } from '../../src/app/backup/report.ts';
import { rowsOf, textOf, withDashboard } from '../support/dashboard.ts';

const PATH = '/operator/system';

test('final blocks that differ from the database are on the page', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const joan = await dashboard.person('Joan', { role: 'operator', storeId: null });
    assert.match(textOf((await joan.get(PATH)).text), 'Last backup never quayside backup');
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
