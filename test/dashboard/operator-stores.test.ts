/** The operator's page of stores: approve, refuse, suspend and resume, each with its reason and its record. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { confirm, type Dashboard, type Visitor, withDashboard } from '../support/dashboard.ts';

const PATH = '/operator/stores';

type Work = (parts: { dashboard: Dashboard; mary: Visitor & { token: string }; storeId: string }) => Promise<void>;

/** A store that waits, and an operator. */
const withWaiting = (work: Work) =>
  withDashboard(async (dashboard) => {
    const storeId = await dashboard.api.addMerchant('pending');
    const mary = await dashboard.person('Mary', { role: 'operator', storeId: null });
    await work({ dashboard, mary, storeId });
  });

test('a refusal needs a reason, which the owner of the store sees, and ends with an approval', () =>
  withWaiting(async ({ dashboard, mary, storeId }) => {
    const database = dashboard.api.database();
    const owner = await dashboard.person('Ada', { role: 'owner', storeId });
    assert.match((await mary.get('/operator')).text, '1 to approve');
    const refuse = `${PATH}/${storeId}/refuse`;
    assert.is((await mary.submit(PATH, refuse, { because: '  ' })).status, 400);
    const review = await mary.submit(PATH, refuse, { because: 'sells nothing' });
    assert.match(review.text, 'sells nothing');
    assert.is((await database.stores.find(storeId))?.refusal, undefined, 'not before it is confirmed');
    const clicks = await Promise.all([1, 2].map(() => confirm(mary, refuse, review)));
    assert.equal(
      clicks.map(({ status }) => status),
      [303, 303],
    );
    const entries = (await database.audit.list(50)).filter(({ target }) => target === storeId);
    const made = entries.filter(({ command }) => command === 'store decide');
    assert.equal(
      made.map(({ operator, reason }) => [operator, reason]),
      [['Mary (dashboard)', 'sells nothing']],
    );
    for (const page of ['settings', 'developers', 'overview']) {
      assert.match((await owner.get(`/s/${storeId}/test/${page}`)).text, 'sells nothing', page);
    }
    // Approving gives power: the second factor is asked for again after ten minutes.
    dashboard.api.clock.advance(11 * 60_000);
    const approve = `${PATH}/${storeId}/approve`;
    const approval = await mary.submit(PATH, approve);
    assert.is((await confirm(mary, approve, approval)).status, 403);
    assert.is((await confirm(mary, approve, approval, { code: dashboard.code(mary.token) })).status, 303);
    const store = await database.stores.find(storeId);
    assert.equal([store?.status, store?.refusal], ['approved', undefined]);
  }));

test('a store is suspended with a reason and resumed, and what no longer fits is refused', () =>
  withWaiting(async ({ dashboard, mary }) => {
    const { api } = dashboard;
    const [suspend, resume] = ['suspend', 'resume'].map((one) => `${PATH}/${api.merchantId}/${one}`) as [
      string,
      string,
    ];
    const review = await mary.submit(PATH, suspend, { because: 'fraud' });
    assert.is((await confirm(mary, suspend, review)).status, 303);
    assert.is((await api.database().stores.find(api.merchantId))?.suspension?.because, 'fraud');
    dashboard.api.clock.advance(20_000);
    assert.is((await confirm(mary, suspend, review)).status, 400, 'it is suspended already');
    const back = await mary.submit(PATH, resume);
    assert.is((await confirm(mary, resume, back)).status, 303);
    assert.is((await api.database().stores.find(api.merchantId))?.suspension, undefined);
    assert.is((await mary.post(`${PATH}/nobody/approve`, {})).status, 403, 'without the token of a form');
  }));

test.run();
