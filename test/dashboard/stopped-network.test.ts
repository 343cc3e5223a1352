/** A network whose node has stopped: what owner and operator are told, and what is neither claimed nor offered. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { NetworkReport } from '../../src/database/network-health.ts';
import { type Dashboard, textOf, withDashboard } from '../support/dashboard.ts';
import { confirmTip, openSale } from '../support/payment-scenes.ts';

const network = 'test:ethereum' as const;
const RPC_TEXT = 'eth_getBlockByNumber: connect ECONNREFUSED 127.0.0.1:8545';

/** Reports what an indexer knows so many seconds after its node was last heard. */
function report({ api }: Dashboard, heardS: number, more: Partial<NetworkReport> = {}): Promise<void> {
  const nowMs = api.clock.nowMs();
  const heardAtMs = nowMs - heardS * 1000;
  const reason = { code: 'node_unreachable', message: RPC_TEXT };
  return api.database().networks.report({
    ...{ network, state: 'fault', reason, headNumber: 900, nodeConnected: false, nodeHeardAtMs: heardAtMs },
    ...{ readThroughS: Math.floor(heardAtMs / 1000), pid: 7, nowMs, ...more },
  });
}

const withRead = (work: (dashboard: Dashboard) => Promise<void>) =>
  withDashboard(async (dashboard) => {
    // A block was read, so that there is a position.
    await openSale(dashboard.api);
    await confirmTip(dashboard.api);
    await work(dashboard);
  });

test('within a minute the owner reads what it means for payments, without the node’s own words', () =>
  withRead(async (dashboard) => {
    const { api } = dashboard;
    const owner = await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId });
    const page = async () => textOf((await owner.get(`/s/${api.merchantId}/test/overview`)).text);
    await report(dashboard, 10);
    assert.match(await page(), 'What needs you nothing', 'a short pause needs nobody');
    await report(dashboard, 45);
    const stopped = await page();
    const needs = stopped.slice(stopped.indexOf('What needs you'));
    assert.match(needs, /not followed No payment on Ethereum \(ERC20\) has been seen since \d{4}-/);
    for (const raw of ['ECONNREFUSED', 'eth_getBlock', 'node_unreachable']) assert.not.match(stopped, raw);
    assert.match(stopped, 'done A test network is connected', 'the list of what to set up does not go back');
  }));

test('the operator reads how old the figures are and which command helps, and nothing claims to pay', () =>
  withRead(async (dashboard) => {
    const mary = await dashboard.person('Mary', { role: 'operator', storeId: null });
    const get = async (path: string) => textOf((await mary.get(path)).text);
    await report(dashboard, 0, { state: 'following', reason: null, nodeConnected: true });
    assert.match(await get(`/operator/networks/${network}`), 'State pays');
    assert.match(await get('/operator/networks'), /Behind .*\d blocks?/);

    await report(dashboard, 300);
    const overview = await get('/operator');
    assert.match(overview, /not read Ethereum \(ERC20\) is read up to .*, and its node last answered 5 min\. ago/);
    assert.match(overview, `quayside network check ${network}`);
    assert.not.match(overview, 'no open alarm');
    const list = await get('/operator/networks');
    assert.match(list, 'as of 5 min. ago');
    assert.not.match(list, /\d blocks?\b/, 'how far behind it is nobody knows');
    const page = await get(`/operator/networks/${network}`);
    assert.match(page, 'does not pay now');
    assert.not.match(page, 'State pays');
    assert.match(page, /Head of the node 900 as of 5 min\. ago/);
    assert.match(page, /Read up to \d+ as of 5 min\. ago/);
    assert.not.match(page, 'Ways out when reading stops');
  }));

test('wallets and payouts of a network that stands still say as of when they are', () =>
  withRead(async (dashboard) => {
    const database = dashboard.api.database();
    const nowMs = dashboard.api.clock.nowMs();
    const mary = await dashboard.person('Mary', { role: 'operator', storeId: null });
    const gas = { kind: 'gas', id: 'ga_1', network, form: 'transfer', index: 0, units: 10n } as const;
    await database.payouts.plan([{ intent: gas, sessionId: null, servesId: null, notBeforeMs: nowMs, nowMs }]);
    const wallet = { network, key: 'ab'.repeat(20), readAtMs: nowMs, role: 'gas' } as const;
    await database.wallets.recordBalance({ ...wallet, units: { native: 5n }, low: [] });
    const open = { owners: 1, units: 7n, openUnits: 0n, readAtMs: nowMs } as const;
    await database.sweeps.recordUnswept(network, [{ network, currency: 'USDT', ...open }]);
    const marks = async (path: string) => textOf((await mary.get(path)).text).match(/as of 5 min\. ago/g)?.length ?? 0;
    const all = () => Promise.all(['money', 'payouts/ga_1'].map((page) => marks(`/operator/${page}`)));
    await report(dashboard, 0, { state: 'following', reason: null, nodeConnected: true });
    assert.equal(await all(), [0, 0]);
    await report(dashboard, 300);
    assert.equal(await all(), [3, 1], 'a balance, what is not swept, the list; the payout');
  }));

test('ways out are offered where they fit: a rewind for a halted network, a skip where reading stops at a block', () =>
  withRead(async (dashboard) => {
    const mary = await dashboard.person('Mary', { role: 'operator', storeId: null });
    const ways = async () => {
      const { text } = await mary.get(`/operator/networks/${network}`);
      return ['reread', 'rewind', 'skip'].filter((way) => text.includes(`quayside network ${way} ${network} `));
    };
    await report(dashboard, 0, { state: 'following', reason: null, nodeConnected: true });
    assert.equal(await ways(), ['reread']);
    await report(dashboard, 0, { reason: { code: 'node_block_missing', message: 'no block 10' } });
    assert.equal(await ways(), ['reread', 'skip']);
    await report(dashboard, 0, { state: 'halted', reason: { code: 'reorg_too_deep', message: 'below the floor' } });
    assert.equal(await ways(), ['reread', 'rewind', 'skip']);
  }));

test.run();
