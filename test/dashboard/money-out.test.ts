/** The operator's page of money out: wallets, freezes and their ends, payouts that need a person. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { confirm, type Dashboard, type Visitor, withDashboard } from '../support/dashboard.ts';
import { rowsOf } from '../support/read-page.ts';

const network = 'test:ethereum' as const;
const PAGE = '/operator/money';

type Work = (parts: { dashboard: Dashboard; mary: Visitor & { token: string } }) => Promise<void>;

const withOperator = (work: Work) =>
  withDashboard(async (dashboard) => {
    const mary = await dashboard.person('Mary', { role: 'operator', storeId: null });
    await work({ dashboard, mary });
  });

test('wallets are shown with what is low or not read', () =>
  withOperator(async ({ dashboard: { api }, mary }) => {
    const database = api.database();
    const nowMs = api.clock.nowMs();
    const wallet = { network, key: 'ab'.repeat(20), low: [], readAtMs: nowMs } as const;
    await database.wallets.recordBalance({ ...wallet, role: 'refund', units: { USDT: 5_000_000n } });
    await database.wallets.recordBalance({ ...wallet, role: 'gas', units: { native: 10n ** 18n }, low: ['native'] });
    const unread = { ...wallet, network: 'test:bsc' as const, readAtMs: nowMs - 700_000 };
    await database.wallets.recordBalance({ ...unread, role: 'gas', units: { native: 1n } });
    const level = { network, currency: 'USDT', owners: 3, units: 7_500_000n, openUnits: 0n, readAtMs: nowMs } as const;
    await database.sweeps.recordUnswept(network, [level]);
    const shown = (await mary.get(PAGE)).text;
    const states = rowsOf(shown, 'Wallets').map(({ Wallet, Holds, State }) => [Wallet, Holds, State].join(', '));
    assert.equal(states.sort(), ['gas, 1 native, not read', 'gas, 1.00 native, low', 'refunds, 5.00 USDT, enough']);
    assert.is(rowsOf(shown, 'On deposit addresses')[0]?.['To be swept'], '7.50 USDT');
  }));

test('every network is frozen with a reason, and thawed with the second factor', () =>
  withOperator(async ({ dashboard: { api, code }, mary }) => {
    const database = api.database();
    assert.is((await mary.submit(PAGE, `${PAGE}/freeze`, { network: 'all', because: ' ' })).status, 400);
    const review = await mary.submit(PAGE, `${PAGE}/freeze`, { network: 'all', because: 'looks <odd>' });
    assert.is((await confirm(mary, `${PAGE}/freeze`, review)).status, 303);
    const [freeze] = await database.holds.list();
    const { network: where, reason, frozenBy } = freeze ?? {};
    assert.equal({ where, reason, frozenBy }, { where: null, reason: 'looks <odd>', frozenBy: 'Mary (dashboard)' });
    api.clock.advance(11 * 60_000);
    const ending = await mary.submit(PAGE, `${PAGE}/thaw`, { because: 'it was a test' });
    assert.is((await confirm(mary, `${PAGE}/thaw`, ending)).status, 403);
    assert.is((await database.holds.list()).length, 1);
    assert.is((await confirm(mary, `${PAGE}/thaw`, ending, { code: code(mary.token) })).status, 303);
    assert.equal(await database.holds.list(), []);
    const acts = (await database.audit.list(9)).filter(({ command }) => command.startsWith('payout '));
    const recorded = acts.map(({ command, reason }) => `${command}: ${reason}`);
    assert.equal(recorded, ['payout thaw: it was a test', 'payout freeze: looks <odd>']);
  }));

test('a frozen network is explained on one screen: what left its wallets, which refund it may be, and the command', () =>
  withOperator(async ({ dashboard, mary }) => {
    const database = dashboard.api.database();
    const [wallet, payee] = ['a1'.repeat(20), 'b1'.repeat(20)] as const;
    await database.wallets.recordOwn(network, { refund: wallet });
    const refund = {
      kind: 'refund',
      session: { id: 'cs_1', amount: '1.50' },
      id: 'rf_lost',
      network,
      mac: 'c',
    } as const;
    const intent = { ...refund, currency: 'USDT', to: payee, units: 1_500_000n } as const;
    const nowMs = dashboard.api.clock.nowMs();
    await database.payouts.plan([{ intent, sessionId: null, servesId: null, notBeforeMs: nowMs, nowMs }]);
    const chain = dashboard.api.chain('ethereum');
    const paid = { from: wallet, to: payee, currency: 'USDT', units: 1_500_000n, isOutgoing: true } as const;
    const block = await chain.mine([paid], `0x${'7'.repeat(64)}`);
    await chain.finalize(block);
    await database.wallets.judge(network, nowMs);
    const { text } = await mary.get(PAGE);
    const [{ Seen: _, To: __, ...lost } = {}] = rowsOf(text, 'Unexplained');
    assert.equal(lost, { Transaction: '0x777777…000000', Amount: '1.50 USDT', 'May be': 'rf_lost' });
    assert.ok(text.includes(`<code data-copy>quayside payout reconcile ${network} --reason REASON</code>`));
  }));

test('a stuck payout is shown with the way out', () =>
  withOperator(async ({ dashboard: { api }, mary }) => {
    const nowMs = api.clock.nowMs();
    const intent = { kind: 'gas', id: 'ga_1', network, form: 'transfer', index: 0, units: 10n ** 16n } as const;
    await api.database().payouts.plan([{ intent, sessionId: null, servesId: null, notBeforeMs: nowMs, nowMs }]);
    const why = { code: 'payout_outcome_unclear', message: 'nobody knows' };
    await api.database().payouts.stick({ id: 'ga_1', generation: 0, why, freezes: false, nowMs });
    const { text } = await mary.get(PAGE);
    const waits = rowsOf(text, 'Payouts').find(({ State }) => State === 'stuck')?.['Waits for'] ?? '';
    assert.match(waits, /^payout_outcome_unclear nobody knows quayside payout resolve ga_1 --reason REASON/);
    for (const ending of ['--paid TRANSACTION', '--never', '--retry']) assert.ok(waits.includes(ending), ending);
  }));

test.run();
