/** The operator's page of the system: proofs, pools, rates, and every setting with where it comes from. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { rememberBackup, updateBackupReport } from '../../src/app/backup/report.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { confirm, rowsOf, textOf, withDashboard } from '../support/dashboard.ts';

const PATH = '/operator/system';
const URL_SECRET = 'wss://node.example/key-4711';
const XPUB_SECRET = 'xpub-4712';
const folder = mkdtempSync(join(tmpdir(), 'quayside-settings-'));
const file = join(folder, 'quayside.json');
const urlFile = join(folder, 'url');
test.after(() => rmSync(folder, { recursive: true }));

writeFileSync(urlFile, URL_SECRET);
writeFileSync(
  file,
  JSON.stringify({
    limits: { pool_target: 77 },
    networks: { bsc: { xpub: XPUB_SECRET, witness_url: 'https://user:hush@n.example' }, tron: {} },
  }),
);
const env = {
  QUAYSIDE_CONFIG: file,
  QUAYSIDE_NETWORKS__BSC__URL_FILE: urlFile,
  QUAYSIDE_LIMITS__BLOCKS_PER_INGEST_MAX: '60',
};

/** Returns value, origin and change of a setting. */
function setting(page: string, path: string): readonly string[] {
  const row = rowsOf(page, 'Settings').find(({ Setting }) => Setting === path);
  return [row?.['In force'], row?.From, row?.['To change it']].map((cell = '') => cell.replaceAll('&quot;', '"'));
}

test('each setting is shown with its value, its origin and the line to paste', () =>
  withDashboard(
    async ({ person }) => {
      const mary = await person('Mary', { role: 'operator', storeId: null });
      const group = async (name: string) => (await mary.get(`${PATH}?settings=${name}`)).text;
      const limits = await group('limits');
      const [value, from, how = ''] = setting(limits, 'limits.pool_target');
      assert.equal([value, from], ['77', 'settings file']);
      // The file has the group already: a second one of that name would replace it.
      assert.match(how, /^"pool_target": 77 in limits.*May be a whole number from 1 to 100000/);
      assert.equal(setting(limits, 'limits.requests_per_second_per_key').slice(0, 2), ['100', 'default']);
      const byVariable = setting(limits, 'limits.blocks_per_ingest_max');
      assert.is(byVariable[1], 'variable QUAYSIDE_LIMITS__BLOCKS_PER_INGEST_MAX');
      // A line in the file would change nothing below the variable.
      assert.match(byVariable[2] ?? '', /^QUAYSIDE_LIMITS__BLOCKS_PER_INGEST_MAX=/);
      const general = await group('');
      const [dashboardUrl = ''] = setting(general, 'dashboard_url');
      assert.match(dashboardUrl, /"http:\/\/localhost:\d+" \(follows from other settings\)/);
      assert.match(setting(general, 'metrics_port')[2] ?? '', /^"metrics_port": 9420 May be/);
      assert.match(general, `put its line into <code>${file}</code>`);
      assert.is((await mary.get(`${PATH}?settings=nothing`)).status, 404);
    },
    { env },
  ));

test('of what may hold a secret only that it is set is shown', () =>
  withDashboard(
    async ({ person }) => {
      const mary = await person('Mary', { role: 'operator', storeId: null });
      const { text } = await mary.get(`${PATH}?settings=networks.bsc`);
      const shown = (path: string) => setting(text, `networks.bsc.${path}`).slice(0, 2);
      assert.equal(shown('url'), ['set', 'variable QUAYSIDE_NETWORKS__BSC__URL_FILE']);
      assert.equal(shown('xpub'), ['set', 'settings file']);
      assert.equal(shown('fallback_url'), ['not set', 'default']);
      assert.equal(shown('chain_id'), ['"56"', 'preset of the network']);
      for (const secret of [URL_SECRET, XPUB_SECRET, 'hush']) assert.not.match(text, secret);
    },
    { env },
  ));

test('in the sandbox a file of the operator’s own is what is to be changed', () =>
  withDashboard(async ({ person }) => {
    const mary = await person('Mary', { role: 'operator', storeId: null });
    const { text } = await mary.get(`${PATH}?settings=`);
    assert.match(textOf(text), 'copy that file to one of your own, put the line into it, name it in QUAYSIDE_CONFIG');
    assert.not.match(text, 'put its line into');
  }));

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

    const review = await joan.submit(PATH, `${PATH}/seed-drill`);
    assert.match(review.text, 'on another machine');
    assert.is((await confirm(joan, `${PATH}/seed-drill`, review)).status, 303);
    assert.match(await later(), /Seed drill .* by Joan \(dashboard\) : on another machine/);
  }));

test('the last backup and what failed since are on the page and on the overview', () =>
  withDashboard(async ({ api, person }) => {
    const mary = await person('Mary', { role: 'operator', storeId: null });
    const [made, proved] = [api.clock.nowMs() - 3 * 3_600_000, api.clock.nowMs() - 2 * 3_600_000];
    const dataDir = dirname(api.file);
    rememberBackup(dataDir, { file: 'a.backup', made_at_ms: made, proved_at_ms: proved, sent_at_ms: null });
    updateBackupReport(dataDir, () => ({ failure: { at_ms: proved, message: 'the target is full' } }));
    for (const path of [PATH, '/operator']) {
      assert.match(textOf((await mary.get(path)).text), /2 hr?\.? ago .*the last one failed the target is full/, path);
    }
    const { text } = await mary.get(PATH);
    assert.is(rowsOf(text, 'Deposit address pools')[0]?.Pool, 'evm , test');
    assert.match(text, 'No source is configured');
  }));

test.run();
