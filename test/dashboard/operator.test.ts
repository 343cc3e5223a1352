/**
 * The operator's pages of the installation and of stores: what stops or is missing is said, with the way out. The audit
 * log, read page by page to its first entry.
 */
import { dirname } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { updateBackupReport } from '../../src/app/backup/report.ts';
import type { NetworkReport } from '../../src/database/networks.ts';
import { confirm, type Dashboard, withDashboard } from '../support/dashboard.ts';
import { confirmTip, openSale } from '../support/payment-scenes.ts';
import { factsOf, nextOf, rowsOf, stepsOf } from '../support/read-page.ts';

const network = 'test:ethereum' as const;
const STORES = '/operator/stores';

/** Reports what an indexer knows so many seconds after its node was last heard. */
function report({ api }: Dashboard, heardS: number, more: Partial<NetworkReport> = {}): Promise<void> {
  const nowMs = api.clock.nowMs();
  const heardAtMs = nowMs - heardS * 1000;
  const reason = { code: 'node_unreachable', message: 'eth_getBlockByNumber: connect ECONNREFUSED 127.0.0.1:8545' };
  return api.database().networks.report({
    network,
    state: 'fault',
    reason,
    headNumber: 900,
    nodeConnected: false,
    nodeHeardAtMs: heardAtMs,
    readThroughS: Math.floor(heardAtMs / 1000),
    pid: 7,
    nowMs,
    ...more,
  });
}

test('a network that stops: the owner reads what it means for payments, the operator which command helps', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    // A block was read, so that there is a position.
    await openSale(api);
    await confirmTip(api);
    const mary = await dashboard.person('Mary', { role: 'operator', storeId: null });
    const owner = await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId });
    const overview = async () => stepsOf((await owner.get(`/s/${api.merchantId}/test/overview`)).text);
    const row = async () =>
      rowsOf((await mary.get('/operator')).text, 'Networks').find((one) => one.Network?.includes(network));
    await report(dashboard, 0, { state: 'following', reason: null, nodeConnected: true });
    const followed = await row();
    const { State: following, 'Head of the node': head, Reason: why } = followed ?? {};
    assert.equal({ following, head, why }, { following: 'following', head: '900', why: '–' });
    await report(dashboard, 10);
    assert.not.ok(
      (await overview()).some((line) => line.startsWith('not followed')),
      'a short pause needs nobody',
    );

    await report(dashboard, 300);
    const stopped = await overview();
    const [needed = ''] = stopped;
    assert.match(needed, /^not followed No payment on Ethereum \(ERC20\) has been seen since \d{4}-/);
    assert.not.match(needed, /ECONNREFUSED|eth_getBlock|node_unreachable/, 'the node’s own words');
    assert.ok(stopped.includes('done A test network is connected'), 'the list of what to set up does not go back');
    const { State, Reason, 'Node heard': heard } = (await row()) ?? {};
    assert.equal({ State, heard }, { State: 'fault', heard: '5 min. ago' });
    assert.match(Reason ?? '', /look at the node; it is tried again, and goes on by itself/);
    const [line = ''] = stepsOf((await mary.get('/operator')).text);
    assert.match(line, /^not read Ethereum \(ERC20\) is read up to .*quayside network check test:ethereum/);
  }));

test('backups and the blocks that were read again are on the page of the installation', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const mary = await dashboard.person('Mary', { role: 'operator', storeId: null });
    const page = async () => (await mary.get('/operator')).text;
    const compared = async () => rowsOf(await page(), 'Networks')[0]?.['Final blocks read again'];
    assert.is(factsOf(await page())['Last backup'], 'never quayside backup');
    assert.is(await compared(), 'none yet');
    const guards = async () => stepsOf(await page()).map((one) => one.split(' ', 3).join(' '));
    assert.equal(await guards(), ['no backup was', 'nobody is informed']);
    const act = { atMs: api.clock.nowMs(), operator: 'root', command: 'notify add', reason: null };
    const target = { id: 'nt_1', kind: 'slack', name: 'team', address: '{}', code: '918273' } as const;
    await api.database().alarms.addTarget({ ...target, severity: 'page', createdAtMs: act.atMs }, act);
    assert.equal((await guards()).length, 2, 'it has to be proved');
    await api.database().alarms.proveTarget('nt_1', '918273', act);
    assert.equal(await guards(), ['no backup was']);
    const comparison = { network, from: 90, through: 99, blocks: 10, transfers: 2 } as const;
    await api.database().blocks.recordComparison({ ...comparison, differences: 2, comparedAtMs: api.clock.nowMs() });
    assert.match((await compared()) ?? '', /^differences through 99/);
    const [made, proved] = [api.clock.nowMs() - 3 * 3_600_000, api.clock.nowMs() - 2 * 3_600_000];
    const dataDir = dirname(api.file);
    const newest = { file: 'a.backup', made_at_ms: made, proved_at_ms: proved, sent_at_ms: null };
    updateBackupReport(dataDir, () => ({ newest, failure: { at_ms: proved, message: 'the target is full' } }));
    const text = await page();
    assert.match(factsOf(text)['Last backup'] ?? '', /3 hr?\.? ago .*the last one failed the target is full/);
  }));

test('a store is suspended with a reason that its owner sees, and approved with the second factor', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const database = api.database();
    const storeId = await api.addMerchant('pending');
    const mary = await dashboard.person('Mary', { role: 'operator', storeId: null });
    const owner = await dashboard.person('Ada', { role: 'owner', storeId });
    const path = (decision: string) => `${STORES}/${storeId}/${decision}`;
    const ask = (decision: string, because = '') => mary.submit(STORES, path(decision), { because });
    assert.match(stepsOf((await mary.get('/operator')).text)[0] ?? '', /^1 to approve/);
    assert.is((await ask('suspend', '  ')).status, 400);
    const review = await ask('suspend', 'sells nothing');
    assert.is((await database.stores.find(storeId))?.suspension, undefined, 'not before it is confirmed');
    assert.is((await confirm(mary, path('suspend'), review)).status, 303);
    for (const page of ['developers', 'overview'])
      assert.match((await owner.get(`/s/${storeId}/test/${page}`)).text, 'sells nothing', page);
    // Approving gives power: the second factor is asked for again after ten minutes.
    api.clock.advance(11 * 60_000);
    const approval = await ask('approve');
    assert.is((await confirm(mary, path('approve'), approval)).status, 403);
    assert.is((await confirm(mary, path('approve'), approval, { code: dashboard.code(mary.token) })).status, 303);
    const store = await database.stores.find(storeId);
    assert.equal(
      { status: store?.status, suspension: store?.suspension },
      { status: 'approved', suspension: undefined },
    );

    assert.is((await mary.post(`${STORES}/nobody/approve`, {})).status, 403, 'without the token of a form');
  }));

test('the log is read page by page to its first entry', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const operator = await dashboard.person('Mary', { role: 'operator', storeId: null });
    for (let nth = 0; nth < 120; nth++) {
      const act = { atMs: Date.UTC(2026, 0, 10) + nth, operator: 'root', command: 'pay', reason: null };
      await api.database().audit.record(act, { target: `t-${nth}`, before: null, after: { nth } });
    }
    const seen: string[] = [];
    for (let path: string | undefined = '/operator/audit'; path; ) {
      const { text }: { text: string } = await operator.get(path);
      seen.push(...rowsOf(text, 'Audit log').map(({ On = '' }) => On));
      path = nextOf(text);
    }
    const own = seen.filter((target) => target.startsWith('t-'));
    assert.equal(
      own,
      Array.from({ length: 120 }, (_, at) => `t-${119 - at}`),
    );
    const { text } = await operator.get('/operator/audit?before=x');
    assert.equal(rowsOf(text, 'Audit log')[0]?.On, seen[0], 'no place to go on from');
  }));

test.run();
