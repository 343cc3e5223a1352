/** The operator's pages of networks: those that could be added with their lines. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Dashboard, textOf, type Visitor, withDashboard } from '../support/dashboard.ts';

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

test.run();
