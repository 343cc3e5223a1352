/** The operator's pages of wallets and of pools, rates and proofs: balances beside the books, and freezes. */
import { dirname } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { rememberBackup, updateBackupReport } from '../../src/app/backup/report.ts';
import { confirm, withDashboard } from '../support/dashboard.ts';

const PATH = '/operator/wallets';
const network = 'test:ethereum' as const;

test('balances are shown beside the books, and what is missing is named', () =>
  withDashboard(async ({ api, person }) => {
    const mary = await person('Mary', { role: 'operator', storeId: null });
    assert.match((await mary.get(PATH)).text, 'No wallet was read yet');
    const database = api.database();
    const nowMs = api.clock.nowMs();
    const wallet = { network, key: 'ab'.repeat(20), low: [], readAtMs: nowMs } as const;
    await database.recordBalance({ ...wallet, role: 'refund', units: { USDT: 5_000_000n } });
    await database.recordBalance({ ...wallet, role: 'gas', units: { native: 10n ** 18n }, low: ['native'] });
    await database.compareBooks({ network, heldUnits: { USDT: 8_000_000n }, nowMs });
    await database.recordUnswept(network, [
      { network, currency: 'USDT', owners: 3, units: 7_500_000n, openUnits: 0n, readAtMs: nowMs },
    ]);
    const agreed = await mary.get(PATH);
    for (const shown of [/0xab/i, /5\.00 USDT/, /1\.00 native/, /low/]) assert.match(agreed.text, shown);
    assert.match(agreed.text, /5\.00 USDT<\/bdi><\/td><td[^>]*><bdi>8\.00 USDT[\s\S]*agrees/);
    assert.match(agreed.text, /7\.50 USDT/);
    assert.match(agreed.text, /<h3>Balances and books<\/h3><table>[\s\S]*<td[^>]* class="number lead"><bdi>5\.00 USDT/);
    await database.compareBooks({ network, heldUnits: { USDT: 5_000_000n }, nowMs: nowMs + 1 });
    assert.match((await mary.get(PATH)).text, 'less than expected');
    assert.not.match(agreed.text, />\s*not read/);
    const unread = { ...wallet, key: 'cd'.repeat(20), readAtMs: nowMs - 700_000 };
    await database.recordBalance({ ...unread, role: 'gas', units: { native: 1n } });
    assert.match((await mary.get(PATH)).text, />\s*not read[\s\S]*11 min/);
  }));

test('the gas wallet has a code to top it up, and the treasury is shown and cannot be changed', () =>
  withDashboard(async ({ api, person }) => {
    const mary = await person('Mary', { role: 'operator', storeId: null });
    const database = api.database();
    const [gas, former, refund, treasury] = ['1a', '2b', '3c', '4d'].map((byte) => byte.repeat(20)) as [
      string,
      string,
      string,
      string,
    ];
    const balance = { network, low: [], readAtMs: api.clock.nowMs(), units: { native: 1n } } as const;
    await database.recordBalance({ ...balance, role: 'gas', key: gas });
    await database.recordBalance({ ...balance, role: 'refund', key: refund });
    assert.not.match((await mary.get(PATH)).text, 'Treasury');
    await database.recordOwnWallets(network, [
      { role: 'treasury', key: former },
      { role: 'treasury', key: treasury },
    ]);
    const { text } = await mary.get(PATH);
    const codes = [...text.matchAll(/<svg class="qr"[\s\S]*?<\/svg>\s*<p><code data-copy>(0x\w+)<\/code>/g)];
    assert.equal(
      codes.map(([, address]) => address?.toLowerCase()),
      [`0x${gas}`],
      'of the gas wallet alone',
    );
    const card = /<section class="card" aria-labelledby="treasury">([\s\S]*?)<\/section>/.exec(text)?.[1] ?? '';
    assert.match(card.toLowerCase(), `0x${treasury}`);
    assert.not.match(card.toLowerCase(), former);
    assert.not.match(card, '<form');
  }));

test('every network is frozen with a reason, and thawed with the second factor', () =>
  withDashboard(async ({ api, person, code }) => {
    const mary = await person('Mary', { role: 'operator', storeId: null });
    assert.is((await mary.submit(PATH, `${PATH}/freeze`, { because: ' ' })).status, 400);
    const review = await mary.submit(PATH, `${PATH}/freeze`, { because: 'a stolen key' });
    assert.is((await confirm(mary, `${PATH}/freeze`, review)).status, 303);
    const [freeze] = await api.database().listFreezes();
    assert.equal([freeze?.network, freeze?.reason, freeze?.frozenBy], [null, 'a stolen key', 'Mary (dashboard)']);
    assert.match((await mary.get(PATH)).text, 'a stolen key');
    api.clock.advance(11 * 60_000);
    const ending = await mary.submit(PATH, `${PATH}/thaw`, { because: 'found it' });
    assert.is((await confirm(mary, `${PATH}/thaw`, ending)).status, 403);
    assert.is((await api.database().listFreezes()).length, 1);
    assert.is((await confirm(mary, `${PATH}/thaw`, ending, { code: code(mary.token) })).status, 303);
    assert.equal(await api.database().listFreezes(), []);
    const [thaw] = (await api.database().audit.list(9)).filter(({ command }) => command === 'payout thaw');
    assert.equal([thaw?.operator, thaw?.reason], ['Mary (dashboard)', 'found it']);
  }));

test('a frozen signer is shown with the way out, on the page of wallets and of the network that reports it', () =>
  withDashboard(async ({ api, person }) => {
    const mary = await person('Mary', { role: 'operator', storeId: null });
    const pages = [PATH, `/operator/networks/${network}`];
    const freeze = { reason: 'a stolen key', frozenBy: 'ann', frozenAtMs: Date.UTC(2026, 10, 25, 12) };
    await api.database().reportSignerFreeze(network, freeze, api.clock.nowMs());
    for (const path of pages) {
      const { text } = await mary.get(path);
      assert.match(
        text,
        /the signer is frozen[\s\S]*2026-11-25 12:00:00[\s\S]*<bdi>ann<\/bdi>: <bdi>a stolen key/,
        path,
      );
      assert.match(text, '<code>quayside-signer thaw</code>', path);
    }
    await api.database().reportSignerFreeze(network, null, api.clock.nowMs());
    for (const path of pages) assert.not.match((await mary.get(path)).text, 'the signer is frozen', path);
  }));

test('the page says how the signer is frozen, and how sweeps are made', () =>
  withDashboard(async ({ api, person }) => {
    const mary = await person('Mary', { role: 'operator', storeId: null });
    const level = { network, currency: 'USDT', owners: 3, units: 7_500_000n, openUnits: 0n } as const;
    await api.database().recordUnswept(network, [{ ...level, readAtMs: api.clock.nowMs() }]);
    const { text } = await mary.get(PATH);
    for (const command of ['quayside-signer freeze --reason REASON', 'quayside sweep', 'quayside sweep --run']) {
      assert.match(text, `${command}</code>`, command);
    }
  }));

test('pools and proofs are shown as they are', () =>
  withDashboard(async ({ api, person }) => {
    const mary = await person('Mary', { role: 'operator', storeId: null });
    const { text } = await mary.get('/operator/sources');
    assert.match(text, /<bdi>evm<\/bdi>, test/);
    const shown = async (path: string) =>
      /(?:Backup last proved|Restore drill)<\/dt>\s*<dd>([\s\S]*?)<\/dd>/.exec((await mary.get(path)).text)?.[1];
    assert.match((await shown('/operator/sources')) ?? '', /never[\s\S]*quayside backup --prove/);
    const [made, proved] = [api.clock.nowMs() - 3 * 3_600_000, api.clock.nowMs() - 2 * 3_600_000];
    const dataDir = dirname(api.file);
    rememberBackup(dataDir, { file: 'a.backup', made_at_ms: made, proved_at_ms: proved, sent_at_ms: null });
    updateBackupReport(dataDir, () => ({ failure: { at_ms: proved, message: 'the target is full' } }));
    for (const path of ['/operator/sources', '/operator']) {
      const now = (await shown(path)) ?? '';
      assert.match(now, new RegExp(new Date(proved).toISOString().slice(0, 16).replace('T', '[T ]')));
      assert.match(now, /2 h[\s\S]*the last one failed[\s\S]*the target is full/);
    }
    assert.match(text, 'none yet');
    assert.match(text, 'No source is configured');
  }));

test.run();
