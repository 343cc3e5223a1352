/**
 * The links by which payers name where refunds go: shown only to those who may show them, after the second factor, with
 * an entry in the audit log; and a destination that came through a link that staff had seen says so.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import type { StoreRole } from '../../src/core/access.ts';
import { SUDO_MS } from '../../src/dashboard/web-session.ts';
import { confirm, type Dashboard, textOf, withDashboard } from '../support/dashboard.ts';
import { confirmTip, openSale, type Sale } from '../support/payment-scenes.ts';

const address = (digit: string) => chains.evm.address.format(`c0ffee${digit.repeat(34)}`);
const PAST_SUDO_MS = SUDO_MS + 1;

type Scene = Dashboard & Readonly<{ sale: Sale; refundPath: string; claimUrl: string }>;

/** A store with a paid sale, and a refund of it that waits for an address. */
const withRefund = (work: (scene: Scene) => Promise<void>) =>
  withDashboard(
    async (dashboard) => {
      const { api } = dashboard;
      const sale = await openSale(api);
      await sale.send('10.50');
      await confirmTip(api);
      const asked = { order_id: sale.id, refund_id: 'r-1', amount: '4.50', currency: 'USDT' };
      const { json } = await api.send('POST', '/api/v1/refunds/create', asked);
      const claimUrl = (json as { metadata: { claim_url: string } }).metadata.claim_url;
      const [refund] = await api.database().refunds.list({ sessionId: sale.id, limit: 1 });
      await work({ ...dashboard, sale, claimUrl, refundPath: `/s/${api.merchantId}/test/refunds/${refund?.id}` });
    },
    { pages: true },
  );

const staff = (scene: Dashboard, name: string, role: StoreRole) =>
  scene.person(name, { role, storeId: scene.api.merchantId });
const enter = (url: string, to: string) =>
  fetch(url, { method: 'POST', body: new URLSearchParams({ address: to, confirmed: 'yes' }), redirect: 'manual' });
const readRefund = async ({ api }: Dashboard) => {
  const { json } = await api.send('GET', '/api/v1/refunds/r-1');
  return json as { status: string; destination?: { address: string }; destination_source?: string };
};

test('an accountant, who only reads, finds no link on a refund’s page and cannot ask for it', () =>
  withRefund(async (scene) => {
    const amy = await staff(scene, 'Amy', 'accountant');
    const page = await amy.get(scene.refundPath);
    assert.is(page.status, 200);
    const token = scene.claimUrl.slice(scene.claimUrl.lastIndexOf('/') + 1);
    assert.not.match(page.text, token);
    assert.not.match(page.text, `${scene.refundPath}/link`);
    const forced = await amy.post(`${scene.refundPath}/link`, { confirmed: 'yes' });
    assert.is.not(forced.status, 200);
    assert.not.match(forced.text, token);
    await scene.api.database().refunds.advance(scene.api.clock.nowMs(), 10);
    assert.equal(await readRefund(scene).then(({ status, destination }) => [status, destination]), [
      'pending',
      undefined,
    ]);
  }));

test('the claim link takes the second factor and an audit entry, and what comes through it is not called the payer’s', () =>
  withRefund(async (scene) => {
    const { api, refundPath, claimUrl } = scene;
    const sam = await staff(scene, 'Sam', 'staff');
    const token = claimUrl.slice(claimUrl.lastIndexOf('/') + 1);
    assert.not.match((await sam.get(refundPath)).text, token);
    api.clock.advance(PAST_SUDO_MS);
    const review = await sam.submit(refundPath, `${refundPath}/link`);
    const refused = await confirm(sam, `${refundPath}/link`, review);
    assert.is(refused.status, 403, 'a session alone is not enough');
    assert.not.match(refused.text, token);
    const shown = await confirm(sam, `${refundPath}/link`, review, { code: scene.code(sam.token) });
    assert.match(shown.text, claimUrl);
    const [entry] = await api.database().audit.list(1);
    assert.equal([entry?.operator, entry?.command], ['Sam (dashboard)', 'show claim link']);
    assert.not.match(JSON.stringify(entry), token);

    assert.is((await enter(claimUrl, address('1'))).status, 303);
    const { destination, destination_source } = await readRefund(scene);
    assert.equal([destination?.address, destination_source], [address('1'), 'claim_link']);
    assert.match(textOf((await sam.get(refundPath)).text), 'which somebody of your team had seen');
    const named = (await api.database().audit.list(9)).find(({ command }) => command === 'claim link');
    assert.is(named?.after?.linkSeen, true);
  }));

test('a claim link that nobody of the store has seen is the payer’s', () =>
  withRefund(async (scene) => {
    assert.is((await enter(scene.claimUrl, address('1'))).status, 303);
    const ada = await staff(scene, 'Ada', 'owner');
    assert.match(textOf((await ada.get(scene.refundPath)).text), 'named by the payer with the claim link');
  }));

test('staff cannot take an approved refund by its claim link', () =>
  withRefund(async (scene) => {
    const { api, sale } = scene;
    await api.database().stores.setRefundPolicy(api.merchantId, { refundAutoMinor: 0 });
    const [sam, ada] = [await staff(scene, 'Sam', 'staff'), await staff(scene, 'Ada', 'owner')];
    const form = `/s/${api.merchantId}/test/payments/${sale.id}/refund`;
    const asked = await sam.submit(form, form, { amount: '4.00', currency: 'USDT' });
    const path = (await confirm(sam, form, asked)).headers.get('location')?.split('?')[0] ?? '';
    const page = await ada.get(path);
    assert.match(textOf(page.text), 'Nothing can be approved yet');
    assert.not.match(page.text, `action="${path}/approve"`);
    const forced = await ada.submit(path, `${path}/refuse`);
    const hidden = { form_token: /name="form_token" value="([^"]+)"/.exec(page.text)?.[1] ?? '', confirmed: 'yes' };
    assert.is(forced.status, 400);
    const approved = await ada.post(`${path}/approve`, { ...hidden, seen: '' });
    assert.equal([approved.status, /without an address/.test(approved.text)], [400, true]);

    const review = await sam.submit(path, `${path}/link`);
    const shown = await confirm(sam, `${path}/link`, review);
    const url = /<code[^>]*>([^<]+\/refund\/[0-9a-f]{32})</.exec(shown.text)?.[1] ?? '';
    assert.is((await enter(url, address('bad'.charAt(0)))).status, 303);
    await api.database().refunds.advance(api.clock.nowMs(), 10);
    const id = path.slice(path.lastIndexOf('/') + 1);
    assert.is((await api.database().refunds.findBy({ id }))?.status, 'pending');
    assert.is(await api.database().payouts.find(id), null, 'no money moves');
    assert.match(textOf((await ada.get(path)).text), 'needs approval');
  }));

test.run();
