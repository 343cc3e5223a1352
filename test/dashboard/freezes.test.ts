/** Freezes of payouts, and payouts that wait for a person, over real HTTP. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { confirm, type Dashboard, type Visitor, withDashboard } from '../support/dashboard.ts';

const network = 'test:ethereum' as const;
const PAGE = `/operator/networks/${network}`;

type Work = (parts: { dashboard: Dashboard; mary: Visitor & { token: string } }) => Promise<void>;

const withOperator = (work: Work) =>
  withDashboard(async (dashboard) => {
    const mary = await dashboard.person('Mary', { role: 'operator', storeId: null });
    await work({ dashboard, mary });
  });

test('each freeze is ended by a form of its own, and an operator may freeze what is frozen already', () =>
  withOperator(async ({ dashboard, mary }) => {
    const database = dashboard.api.database();
    const sinceMs = dashboard.api.clock.nowMs();
    const freeze = { network, reason: 'money left', frozenBy: 'quayside', sinceMs };
    await database.freezePayouts({ ...freeze, code: 'wallet_outflow_foreign' }, null);
    const review = await mary.submit(PAGE, `${PAGE}/freeze`, { because: 'a look' });
    assert.is((await confirm(mary, `${PAGE}/freeze`, review)).status, 303);
    const { text } = await mary.get(PAGE);
    assert.equal(text.match(/name="cause" value="[a-z_]+"/g)?.sort(), [
      'name="cause" value="payouts_frozen"',
      'name="cause" value="wallet_outflow_foreign"',
    ]);
    assert.not.match(text, `${PAGE}/freeze"`);
    const own = await mary.submit(PAGE, `${PAGE}/thaw`, { because: 'done', cause: 'payouts_frozen' });
    assert.match(own.text, /by<[\s\S]*Mary \(dashboard\)[\s\S]*a look/);
    assert.not.match(own.text, 'money left');
    assert.is((await confirm(mary, `${PAGE}/thaw`, own)).status, 303);
    assert.equal(
      (await database.listFreezes()).map(({ code }) => code),
      ['wallet_outflow_foreign'],
    );
    assert.is((await mary.submit(PAGE, `${PAGE}/thaw`, { because: 'x', cause: 'payouts_frozen' })).status, 400);
  }));

test('the end of a freeze shows the transfers that it acknowledges, and those that came later keep it', () =>
  withOperator(async ({ dashboard, mary }) => {
    const database = dashboard.api.database();
    const [wallet, payee] = ['a1'.repeat(20), 'b1'.repeat(20)] as const;
    await database.recordOwnWallets(network, [{ role: 'refund', key: wallet }]);
    const lose = async (tx: string) => {
      const transfer = { tx, index: 0, currency: 'USDT', from: wallet, to: payee, units: 1_500_000n } as const;
      const tip = (await database.networks.list()).find(({ network: of }) => of === network)?.cursor;
      const number = (tip?.number ?? 0) + 1;
      const block = { hash: `b${number}`, parent: tip?.hash ?? '', number, timeS: 0 };
      const outcome = await database.blocks.ingest({
        ...{ network, family: 'evm', expectTip: tip?.hash ?? null, watchedThroughId: 1_000_000, ownWalletId: 1_000 },
        ...{ decimals: { USDT: 6, USDC: 6 }, dustFloorPar: 1n, drop: [], confirm: [], floor: number, readThroughS: 0 },
        connect: [{ block, transfers: [{ ...transfer, isOutgoing: true }] }],
        nowMs: dashboard.api.clock.nowMs(),
      });
      assert.is(outcome, 'done');
      await database.judgeOutgoing(network, dashboard.api.clock.nowMs());
    };
    await lose('t1');
    const review = await mary.submit(PAGE, `${PAGE}/thaw`, { because: 'it was us' });
    assert.match(review.text, /t1[\s\S]*1\.50 USDT[\s\S]*0x[bB]1[\s\S]*settle no refund any more/);
    await lose('t2');
    const kept = await confirm(mary, `${PAGE}/thaw`, review);
    assert.is(kept.status, 303);
    assert.match((await mary.get(kept.headers.get('location') ?? '')).text, 'more has left the wallets than was shown');
    const states = async () => (await database.listOutgoing(network, 9)).map(({ tx, state }) => `${tx} ${state}`);
    assert.equal(await states(), ['t2 foreign', 't1 known']);
    const again = await mary.submit(PAGE, `${PAGE}/thaw`, { because: 'it was us, too' });
    assert.is(again.text.match(/1\.50 USDT/g)?.length, 1);
    assert.is((await confirm(mary, `${PAGE}/thaw`, again)).status, 303);
    assert.equal([await states(), await database.listFreezes()], [['t2 known', 't1 known'], []]);
    const [entry] = (await database.audit.list(9)).filter(({ command }) => command === 'payout thaw');
    assert.is(entry?.before?.transactions, 't2');
  }));

test('money out is frozen with a reason and thawed with the second factor', () =>
  withOperator(async ({ dashboard, mary }) => {
    const database = dashboard.api.database();
    const review = await mary.submit(PAGE, `${PAGE}/freeze`, { because: 'looks <odd>' });
    assert.match(review.text, 'looks &lt;odd&gt;');
    assert.is((await confirm(mary, `${PAGE}/freeze`, review)).status, 303);
    assert.is((await database.findFreeze(network))?.code, 'payouts_frozen');
    dashboard.api.clock.advance(11 * 60_000);
    const ending = await mary.submit(PAGE, `${PAGE}/thaw`, { because: 'it was a test' });
    assert.is((await confirm(mary, `${PAGE}/thaw`, ending)).status, 403);
    const code = dashboard.code(mary.token);
    assert.is((await confirm(mary, `${PAGE}/thaw`, ending, { code })).status, 303);
    assert.is(await database.findFreeze(network), null);
    const acts = (await database.audit.list(9)).filter(({ command }) => command.startsWith('payout '));
    assert.equal(
      acts.map(({ command, reason }) => [command, reason]),
      [
        ['payout thaw', 'it was a test'],
        ['payout freeze', 'looks <odd>'],
      ],
    );
  }));

test('a stuck payout is shown first, with the commands that resolve it', () =>
  withOperator(async ({ dashboard, mary }) => {
    const { api } = dashboard;
    const nowMs = api.clock.nowMs();
    const intent = { kind: 'gas', id: 'ga_1', network, form: 'transfer', index: 0, units: 10n ** 16n } as const;
    await api.database().planPayouts([{ intent, sessionId: null, servesId: null, notBeforeMs: nowMs, nowMs }]);
    const why = { code: 'payout_outcome_unclear', message: 'nobody knows' };
    await api.database().stickPayout({ id: 'ga_1', generation: 0, why, haltsPayer: null, nowMs });
    assert.match((await mary.get('/operator/payouts')).text, 'they need you');
    const path = '/operator/payouts/ga_1';
    assert.match((await mary.get(path)).text, 'nobody knows');
    for (const ending of ['--paid TRANSACTION', '--never', '--retry']) {
      assert.match((await mary.get(path)).text, `quayside payout resolve ga_1 ${ending} --reason REASON`);
    }
  }));

test.run();
