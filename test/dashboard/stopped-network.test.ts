/** A network whose node has stopped: what owner and operator are told, and what is neither claimed nor offered. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { NetworkReport } from '../../src/database/networks.ts';
import { type Dashboard, rowsOf, textOf, withDashboard } from '../support/dashboard.ts';
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

test('the operator reads how old the figures are and which command helps', () =>
  withRead(async (dashboard) => {
    const mary = await dashboard.person('Mary', { role: 'operator', storeId: null });
    const page = async () => (await mary.get('/operator')).text;
    const row = async () => rowsOf(await page(), 'Networks').find((one) => one.Network?.includes(network));
    await report(dashboard, 0, { state: 'following', reason: null, nodeConnected: true });
    const followed = await row();
    assert.equal([followed?.State, followed?.['Head of the node'], followed?.Reason], ['following', '900', '–']);

    await report(dashboard, 300);
    const stopped = await row();
    assert.is(stopped?.State, 'fault');
    for (const name of ['Head of the node', 'Read to', 'Final to'])
      assert.match(stopped?.[name] ?? '', /as of 5 min\. ago/);
    assert.match(stopped?.Reason ?? '', /look at the node; it is tried again, and goes on by itself/);
    const text = textOf(await page());
    assert.match(text, /not read Ethereum \(ERC20\) is read up to .*quayside network check test:ethereum/);
    assert.not.match(text, 'no open alarm');
  }));

test.run();
