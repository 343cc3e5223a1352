/** The operator's pages of networks: those that could be added with their lines, and how far behind each was read. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Dashboard, textOf, type Visitor, withDashboard } from '../support/dashboard.ts';

const network = 'test:ethereum' as const;
const folder = mkdtempSync(join(tmpdir(), 'quayside-networks-'));
const file = join(folder, 'quayside.json');
test.after(() => rmSync(folder, { recursive: true }));

const withOperator = (work: (dashboard: Dashboard, mary: Visitor) => Promise<void>, env: NodeJS.ProcessEnv = {}) =>
  withDashboard(
    async (dashboard) => work(dashboard, await dashboard.person('Mary', { role: 'operator', storeId: null })),
    {
      env,
    },
  );

test('networks that are not configured are listed with the line that adds each', async () => {
  writeFileSync(file, JSON.stringify({ networks: { bsc: { url: 'ws://n', xpub: 'x' } } }));
  await withOperator(
    async (_, mary) => {
      const shown = textOf((await mary.get('/operator/networks')).text).replaceAll('&quot;', '"');
      assert.match(shown, file);
      assert.match(shown, 'tron live "tron": { "url": "…", "xpub": "…" } in networks');
      assert.match(shown, 'solana live "solana": { "url": "…" } in networks', 'its addresses are imported');
      assert.not.match(shown, '"bsc":', 'it is configured');
      assert.match(shown, '"bsc-testnet":');
      assert.not.match(shown, 'sandbox-', 'the simulated ones belong to the sandbox');
    },
    { QUAYSIDE_CONFIG: file },
  );
  await withOperator(async (_, mary) => {
    const shown = textOf((await mary.get('/operator/networks')).text).replaceAll('&quot;', '"');
    assert.match(shown, 'come with Quayside and are replaced by an upgrade');
  });
});

test('the lag of the last day is drawn by half hours, and said as a table; what nobody reported is not zero', () =>
  withOperator(async ({ api }, mary) => {
    const nowMs = api.clock.nowMs();
    const lastMs = nowMs - (nowMs % 1_800_000);
    const report = (atMs: number, lagS: number) =>
      api.database().networks.report({
        ...{ network, state: 'following', reason: null, headNumber: 9, nodeConnected: true, nodeHeardAtMs: atMs },
        ...{ readThroughS: Math.floor(atMs / 1000) - lagS, pid: 7, nowMs: atMs },
      });
    await report(lastMs - 3 * 1_800_000, 600);
    await report(lastMs - 1_800_000, 12);
    await report(lastMs - 1_200_000, 30);
    const { text } = await mary.get(`/operator/networks/${network}`);
    const section = text.slice(text.indexOf('id="lag"'), text.indexOf('</section>', text.indexOf('id="lag"')));
    const cells = [...section.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = '']) => textOf(cell));
    assert.is(cells.length, 2 * 48);
    const before = [-3, -5, -7].map((from) => cells.at(from));
    assert.equal(before, ['30 s', 'no report', '10 min'], 'of the half hours before this one');
    assert.is(
      (section.match(/<rect class="unknown"/g) ?? []).length,
      cells.filter((cell) => cell === 'no report').length,
    );
    assert.match(section, 'role="img"');
  }));

test.run();
