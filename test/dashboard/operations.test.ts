/**
 * Operations and the ways out of a network, over real HTTP: what is only looked at is asked for at once, what changes
 * something is reviewed, asks for the second factor, and is asked for once.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { OperationResult } from '../../src/core/operation.ts';
import { type Answer, confirm, type Dashboard, type Visitor, withDashboard } from '../support/dashboard.ts';

const network = 'test:ethereum' as const;
const PAGE = `/operator/networks/${network}`;
const ASK = `${PAGE}/ask`;

type Work = (parts: { dashboard: Dashboard; mary: Visitor & { token: string } }) => Promise<void>;

const withOperator = (work: Work) =>
  withDashboard(async (dashboard) => {
    const mary = await dashboard.person('Mary', { role: 'operator', storeId: null });
    await work({ dashboard, mary });
  });

const hidden = ({ text }: Answer): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/<input type="hidden" name="(form_token|once)" value="([^"]*)"/g)].map(([, name, value]) => [
      name,
      value,
    ]),
  );

/** Sends a form that asks for something, with the fields of the network's page. */
const ask = async (mary: Visitor, fields: Record<string, string>): Promise<Answer> =>
  mary.post(ASK, { ...hidden(await mary.get(PAGE)), ...fields });

const pathOf = ({ headers }: Answer): string => (headers.get('location') ?? '').split('?')[0] ?? '';

/** What the indexer of the network does. */
async function finish({ api }: Dashboard, result: OperationResult): Promise<void> {
  const claimed = await api.database().claimOperation(network, 'r', api.clock.nowMs());
  const worker = { id: claimed?.id ?? '', runner: 'r', nowMs: api.clock.nowMs() };
  assert.is(await api.database().endOperation(worker, 'done', result), true);
}

const shownPlan = {
  lines: ['20.00 USDT in 1 sweeps to the treasury 0xaa, for about 0.01 ETH.'],
  table: { columns: ['Amount'], rows: [['20.00 USDT']] },
  plan: { treasury: 'aa', costUnits: '5', ids: ['sw_1'] },
};

test('a plan is asked for at once, and its run only after a review, with the second factor, once', () =>
  withOperator(async ({ dashboard, mary }) => {
    const { api } = dashboard;
    const asked = await ask(mary, { kind: 'sweep_plan' });
    assert.is(asked.status, 303);
    const path = pathOf(asked);
    assert.match((await mary.get(`${path}?follow=yes`)).text, 'http-equiv="refresh"');
    const waiting = await mary.get(path);
    assert.match(waiting.text, 'has not begun yet');
    assert.not.match(waiting.text, 'http-equiv="refresh"');
    await finish(dashboard, shownPlan);
    const shown = await mary.get(`${path}?follow=yes`);
    assert.match(shown.text, '20.00 USDT in 1 sweeps');
    assert.not.match(shown.text, 'http-equiv="refresh"', 'it has ended');

    api.clock.advance(11 * 60_000);
    const review = await mary.submit(path, ASK);
    assert.match(review.text, 'Exactly the sweeps that were shown');
    assert.is((await confirm(mary, ASK, review)).status, 403, 'without a code');
    const code = dashboard.code(mary.token);
    const clicks = await Promise.all([1, 2].map(() => confirm(mary, ASK, review, { code })));
    assert.equal(
      clicks.map(({ status }) => status),
      [303, 303],
    );
    const all = await api.database().listOperations({ limit: 9 }, api.clock.nowMs());
    assert.equal(
      all.map(({ wish }) => wish.kind),
      ['sweep_run', 'sweep_plan'],
    );
    const again = await mary.submit(path, ASK);
    const refused = await confirm(mary, ASK, again);
    assert.equal([refused.status, /was run already/.test(refused.text)], [400, true]);
    const entry = (await api.database().listAudit(9)).find(({ command }) => command === 'ask: sweep run');
    assert.equal([entry?.operator, entry?.target], ['Mary (dashboard)', network]);
  }));

test('an old plan is not run, and an operation that no indexer took says so', () =>
  withOperator(async ({ dashboard, mary }) => {
    const path = pathOf(await ask(mary, { kind: 'sweep_plan' }));
    await finish(dashboard, shownPlan);
    const late = pathOf(await ask(mary, { kind: 'sweep_plan' }));
    dashboard.api.clock.advance(16 * 60_000);
    assert.match((await mary.get(late)).text, 'so it was not done');
    const review = await mary.submit(path, ASK);
    const refused = await confirm(mary, ASK, review, { code: dashboard.code(mary.token) });
    assert.equal([refused.status, /older than 15 minutes/.test(refused.text)], [400, true]);
  }));

test('what is asked for is read strictly, and cannot pile up', () =>
  withOperator(async ({ mary }) => {
    for (const fields of [
      { kind: 'nothing' },
      { kind: 'reread', from: '5', to: '4', check: 'yes' },
      { kind: 'reread', from: '-1', to: '4', check: 'yes' },
      { kind: 'settle', payout: 'p', how: 'paid', paid: ' ', check: 'yes' },
      { kind: 'settle', payout: 'p', how: 'never' },
      { kind: 'settle', payout: 'p', how: 'never', vouch: 'yes', check: 'yes' },
      { kind: 'sweep_plan', min: '5,00' },
      { kind: 'adopt' },
      { kind: 'freeze_signer', because: ' ' },
    ] as Record<string, string>[]) {
      assert.is((await ask(mary, fields)).status, 400, JSON.stringify(fields));
    }
    const statuses = [];
    for (let n = 0; n < 6; n++) {
      const fields = { kind: 'reread', from: '1', to: String(n + 2), check: 'yes' };
      statuses.push((await ask(mary, fields)).status);
    }
    assert.equal(statuses, [303, 303, 303, 303, 303, 400]);
    assert.is((await mary.post('/operator/networks/test:none/ask', hidden(await mary.get(PAGE)))).status, 404);
  }));

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
      const tip = (await database.listNetworks()).find(({ network: of }) => of === network)?.cursor;
      const number = (tip?.number ?? 0) + 1;
      const block = { hash: `b${number}`, parent: tip?.hash ?? '', number, timeS: 0 };
      const outcome = await database.ingest({
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
    const [entry] = (await database.listAudit(9)).filter(({ command }) => command === 'payouts thaw');
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
    const acts = (await database.listAudit(9)).filter(({ command }) => command.startsWith('payouts'));
    assert.equal(
      acts.map(({ command, reason }) => [command, reason]),
      [
        ['payouts thaw', 'it was a test'],
        ['payouts freeze', 'looks <odd>'],
      ],
    );
  }));

test('a rewind is tried first, and done with its reason', () =>
  withOperator(async ({ dashboard, mary }) => {
    const { api } = dashboard;
    const chain = api.chain('ethereum');
    for (let n = 0; n < 5; n++) await chain.mine();
    const tip = async () =>
      (await api.database().listNetworks()).find((one) => one.network === network)?.cursor?.number ?? 0;
    const before = await tip();
    await chain.report('halted');
    const rewind = `${PAGE}/rewind`;
    assert.is((await mary.submit(PAGE, rewind, { to: String(before), because: 'x' })).status, 400);
    const review = await mary.submit(PAGE, rewind, { to: String(before - 2), because: 'a bad node' });
    assert.match(review.text, 'takes out <bdi>2</bdi> blocks');
    assert.is(await tip(), before, 'that was only tried');
    assert.is((await confirm(mary, rewind, review)).status, 303);
    assert.is(await tip(), before - 2);
    const [entry] = (await api.database().listAudit(9)).filter(({ command }) => command === 'networks rewind');
    assert.equal([entry?.operator, entry?.reason], ['Mary (dashboard)', 'a bad node']);
    await chain.report('halted');
    const skip = `${PAGE}/skip`;
    const early = await mary.submit(PAGE, skip, { from: '1', to: '1', because: 'x' });
    assert.match(early.text, 'was read already');
  }));

test('flags of the commands are fields of the forms, shown before they count', () =>
  withOperator(async ({ dashboard, mary }) => {
    const database = dashboard.api.database();
    const wishes = async () =>
      (await database.listOperations({ limit: 9 }, dashboard.api.clock.nowMs())).map((one) => one.wish);
    await ask(mary, { kind: 'sweep_plan', min: '5.00' });
    assert.equal(await wishes(), [{ kind: 'sweep_plan', min: '5.00' }]);
    dashboard.api.clock.advance(1);
    await finish(dashboard, shownPlan);
    const settle = { kind: 'settle', payout: 'ga_1', how: 'paid', paid: '0xab', vouch: 'yes', check: 'yes' };
    const checked = pathOf(await ask(mary, settle));
    dashboard.api.clock.advance(1);
    await finish(dashboard, { lines: ['ga_1 would be settled.'] });
    const review = await mary.submit(checked, ASK, { because: 'the explorer shows it' });
    assert.match(review.text, 'You vouch for it');
    assert.is((await confirm(mary, ASK, review)).status, 303);
    const [done] = await wishes();
    assert.equal(done, {
      ...{ kind: 'settle', payoutId: 'ga_1', paidBy: '0xab', isRenewed: false, isCheck: false, vouches: true },
    });
    // No node can be typed in: whoever could name one could show payments that nobody made.
    dashboard.api.clock.advance(1);
    await ask(mary, {
      kind: 'reread',
      from: '1',
      to: '2',
      check: 'yes',
      node: 'https://evil.example',
      url: 'https://evil.example',
    });
    assert.equal((await wishes())[0], { kind: 'reread', from: 1, to: 2, isCheck: true });
    await ask(mary, { kind: 'reread', from: '1', to: '3', check: 'yes', node: 'witness' });
    assert.ok((await wishes()).some((wish) => wish.kind === 'reread' && wish.node === 'witness'));
  }));

test('a stuck payout is shown first, resumed, and can be settled', () =>
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
    const checked = await mary.submit(path, ASK, { how: 'never' });
    assert.is(checked.status, 303);
    // Ids sort by time.
    api.clock.advance(1);
    await finish(dashboard, { lines: ['ga_1 would be ended: it was never paid.'] });
    const check = await mary.get(pathOf(checked));
    assert.match(check.text, 'would be ended');
    const review = await mary.submit(pathOf(checked), ASK, { because: 'it never left' });
    assert.match(review.text, /Settle a payout as never paid[\s\S]*it never left/);
    assert.is((await confirm(mary, ASK, review)).status, 303);
    const [settle] = await api.database().listOperations({ limit: 1 }, nowMs);
    assert.equal(settle?.wish, { kind: 'settle', payoutId: 'ga_1', paidBy: null, isRenewed: false, isCheck: false });
    assert.is(settle?.because, 'it never left');
    const resume = await mary.submit(path, `${path}/resume`);
    assert.is((await confirm(mary, `${path}/resume`, resume)).status, 303);
    assert.is((await api.database().findPayout('ga_1'))?.state, 'waiting');
  }));

test.run();
