/** The operator's page of settings: what is in force, where it comes from, and the line that changes it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withDashboard } from '../support/dashboard.ts';

const PATH = '/operator/settings';
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
  QUAYSIDE_RATES__STATIC__EUR: '1.1',
};

/** Returns the text of a setting's row, cell by cell. */
function row(page: string, path: string): readonly string[] {
  const found = page.split('<tr>').find((one) => one.includes(`<code>${path}</code>`));
  assert.ok(found, path);
  const text = (cell: string) =>
    cell
      .replaceAll(/<svg.*?<\/svg>|<[^>]*>/g, '')
      .replaceAll('&quot;', '"')
      .trim();
  return (found?.split('<td').slice(1) ?? []).map((cell) => text(cell.slice(cell.indexOf('>') + 1)));
}

test('each setting is shown with its value, its origin and the line to paste', () =>
  withDashboard(
    async ({ person }) => {
      const mary = await person('Mary', { role: 'operator', storeId: null });
      const limits = (await mary.get(`${PATH}?of=limits`)).text;
      assert.equal(row(limits, 'limits.pool_target').slice(1, 3), ['77', 'settings file']);
      // The file has the group already: a second one of that name would replace it.
      assert.match(row(limits, 'limits.pool_target')[3] ?? '', /^"pool_target": 77 in limits/);
      assert.match(row(limits, 'limits.pool_target')[3] ?? '', 'May be a whole number from 1 to 100000');
      assert.equal(row(limits, 'limits.requests_per_second_per_key').slice(1, 3), ['100', 'default']);
      const [, value, from, how] = row(limits, 'limits.blocks_per_ingest_max');
      assert.equal([value, from], ['"60"', 'variable QUAYSIDE_LIMITS__BLOCKS_PER_INGEST_MAX']);
      // A line in the file would change nothing below the variable.
      assert.match(how ?? '', /^QUAYSIDE_LIMITS__BLOCKS_PER_INGEST_MAX=/);
      const alarms = (await mary.get(`${PATH}?of=alarms`)).text;
      assert.match(row(alarms, 'alarms.patience_s')[3] ?? '', /^"alarms": \{ "patience_s": 300 \}/);
      const rates = (await mary.get(`${PATH}?of=rates`)).text;
      assert.match(row(rates, 'rates.static')[2] ?? '', 'QUAYSIDE_RATES__STATIC__EUR');
      const general = (await mary.get(PATH)).text;
      assert.match(row(general, 'dashboard_url')[1] ?? '', /"http:\/\/localhost:\d+" \(follows from other settings\)/);
      assert.match(row(general, 'signer')[1] ?? '', 'not set');
      assert.match(row(general, 'dashboard_port')[3] ?? '', /^"dashboard_port": \d+May be a whole number/);
      assert.match(row(general, 'metrics_port')[3] ?? '', /^"metrics_port": 9420May be/);
      const retention = (await mary.get(`${PATH}?of=retention`)).text;
      assert.match(row(retention, 'retention.anonymise_days')[3] ?? '', /"anonymise_days": … \}/);
      assert.match(general, `put its line into <code>${file}</code>`);
      assert.is((await mary.get(`${PATH}?of=nothing`)).status, 404);
    },
    { env },
  ));

test('of what may hold a secret only that it is set is shown', () =>
  withDashboard(
    async ({ person }) => {
      const mary = await person('Mary', { role: 'operator', storeId: null });
      const { text } = await mary.get(`${PATH}?of=networks.bsc`);
      assert.equal(row(text, 'networks.bsc.url').slice(1, 3), ['set', 'variable QUAYSIDE_NETWORKS__BSC__URL_FILE']);
      assert.equal(row(text, 'networks.bsc.xpub').slice(1, 3), ['set', 'settings file']);
      assert.match(row(text, 'networks.bsc.xpub')[3] ?? '', '"xpub": "…"');
      assert.equal(row(text, 'networks.bsc.fallback_url').slice(1, 3), ['not set', 'default']);
      assert.equal(row(text, 'networks.bsc.chain_id').slice(1, 3), ['"56"', 'preset of the network']);
      assert.equal(row(text, 'networks.bsc.sweep.min').slice(1, 3), ['"20.00"', 'default']);
      for (const secret of [URL_SECRET, XPUB_SECRET, 'hush']) assert.not.match(text, secret);
      assert.ok(text.length < 60_000, `${text.length} bytes`);
    },
    { env },
  ));

test('in the sandbox a file of the operator’s own is what is to be changed', () =>
  withDashboard(async ({ person }) => {
    const mary = await person('Mary', { role: 'operator', storeId: null });
    const { text } = await mary.get(PATH);
    assert.match(text, /copy that file to one of your own[^<]*<code>QUAYSIDE_CONFIG<\/code>/);
    assert.not.match(text, 'put its line into');
  }));

test('nobody but the operator sees the settings', () =>
  withDashboard(async ({ api, person }) => {
    const ada = await person('Ada', { role: 'owner', storeId: api.merchantId });
    assert.is((await ada.get(PATH)).status, 404);
  }));

test.run();
