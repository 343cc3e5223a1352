/**
 * Every page of the dashboard, each with something to show: a paid sale with refunds and held money, alarms, payouts.
 */

import type { Page as BrowserPage, Response } from 'playwright-core';
import { issueEndpoint } from '../../src/app/new-credentials.ts';
import { chains } from '../../src/chains/index.ts';
import { invariant } from '../../src/core/fault.ts';
import { SUDO_MS } from '../../src/dashboard/web-session.ts';
import type { ApiServer } from '../support/api-server.ts';
import { approve } from '../support/approve.ts';
import { type Dashboard, formTokenOf, PASSWORD, type Visitor } from '../support/dashboard.ts';
import { confirmTip, openSale, paidSale, type Sale } from '../support/payment-scenes.ts';
import { claimDue, recordAttempt } from '../support/record-attempt.ts';

/** An address that money is sent to. */
export const PAYEE = chains.evm.address.format(`c0ffee${'1'.repeat(34)}`);

/** A form, with its fields, and where it is sent to. */
type SentForm = Readonly<{ to: string; fields: Readonly<Record<string, string>> }>;

/**
 * A page, with the cookie of who sees it; nobody's is empty. The page `missing` does not exist. A page with a form is
 * what that form answers, sent from the path.
 */
export type DashboardPage = Readonly<{
  name: string;
  path: string;
  cookie: string;
  status?: number;
  /** Another one each time, where a form works once. */
  form?(): Promise<SentForm>;
}>;

/** Opens a page in a browser, which has no other cookie then. */
export async function openIn(page: BrowserPage, dashboard: Dashboard, shown: DashboardPage): Promise<Response | null> {
  const [name = '', value = ''] = shown.cookie.split('=');
  await page.context().clearCookies();
  if (shown.cookie !== '') await page.context().addCookies([{ name, value, url: dashboard.url }]);
  const opened = await page.goto(dashboard.url + shown.path);
  if (!shown.form) return opened;
  const { to, fields } = await shown.form();
  const [answer] = await Promise.all([
    page.waitForNavigation(),
    page.evaluate(
      `(({ to, fields }) => {
        const form = document.createElement('form');
        form.method = 'post';
        form.action = to;
        for (const [name, value] of Object.entries(fields)) {
          const input = document.createElement('input');
          input.name = name;
          input.value = value;
          form.append(input);
        }
        document.body.append(form);
        form.submit();
      })(${JSON.stringify({ to, fields })})`,
    ),
  ]);
  return answer;
}

/** Makes one of everything that a store's pages show, for a paid sale. @returns the ids */
async function fillStore(api: ApiServer, sale: Sale) {
  await sale.send('3.25');
  await confirmTip(api);
  await api.database().stores.update(api.merchantId, { refundAutoMinor: 100 });
  const refund = async (refund_id: string, amount: string, metadata: object) => {
    const asked = { order_id: sale.id, refund_id, amount, currency: 'USDT', metadata };
    const { status } = await api.send('POST', '/api/v1/refunds/create', asked);
    invariant(status === 201, `the refund is made: ${status}`);
    return (await api.database().refunds.list({ sessionId: sale.id, limit: 1 }))[0]?.id;
  };
  const approved = await refund('r-1', '4.50', { refund_address: PAYEE });
  api.clock.advance(1);
  const asked = await refund('r-2', '0.50', {});
  api.clock.advance(1);
  await api.database().stores.update(api.merchantId, { refundAutoMinor: 100_00 });
  const processing = await refund('r-3', '0.25', { refund_address: PAYEE });
  await api.database().refunds.advance(api.clock.nowMs(), 10);
  await signOnce(api, processing ?? '');
  const endpoint = issueEndpoint(api.merchantId, 'test', 'https://shop.example/hook', [], api.clock.nowMs());
  await api.database().endpoints.add(endpoint);
  await paidSale(api);
  const [delivery] = await claimDue(api.database(), api.clock.nowMs());
  invariant(delivery, 'a delivery is due');
  const went = { startedAtMs: api.clock.nowMs(), durationMs: 87, status: 500, responseExcerpt: 'no' };
  await recordAttempt(api.database(), delivery, went, { kind: 'failed' });
  await api.database().stores.update(api.merchantId, { accent: '#ffcc00' });
  return { approved, asked, processing, endpoint: endpoint.id, delivery: delivery?.id };
}

/** Lets a refund wait for the signature of an approver, with two that do not count. */
async function signOnce(api: ApiServer, id: string): Promise<void> {
  const nowMs = api.clock.nowMs();
  const message = '0.25 USDT is above the cap per refund of 0.10 USDT and has no valid approval';
  const wait = { code: 'signer_refused_approval', message };
  await api.database().payouts.recordWait({ id, generation: 0, wait, nextLookAtMs: nowMs, nowMs });
  const untilS = Math.floor(nowMs / 1000) + 86_400;
  for (const approver of ['ab', 'cd'].map((byte) => byte.repeat(32))) {
    await approve(api.database(), id, nowMs, { approver, untilS, signature: 'ef'.repeat(64) });
  }
}

/** Adds two targets of notices, one of them proved. */
async function addNotices(api: ApiServer): Promise<void> {
  const act = { atMs: api.clock.nowMs(), operator: 'root', command: 'notify add', reason: null };
  for (const id of ['nt_1', 'nt_2']) {
    const target = { id, kind: 'slack', name: `team ${id}`, address: '{}', code: '918273' } as const;
    await api.database().alarms.addTarget({ ...target, severity: 'page', createdAtMs: act.atMs }, act);
  }
  await api.database().alarms.proveTarget('nt_2', '918273', act);
}

/** Adds what the operator’s pages of money show: a stuck payout, a sweep that waits, wallets, and a plan. */
async function addMoneyOut(api: ApiServer): Promise<void> {
  const database = api.database();
  const nowMs = api.clock.nowMs();
  const network = 'test:ethereum';
  const intent = { kind: 'gas', id: 'ga_1', network, form: 'transfer', index: 0, units: 10n ** 16n } as const;
  await database.payouts.plan([{ intent, sessionId: null, servesId: null, notBeforeMs: nowMs, nowMs }]);
  const why = { code: 'payout_outcome_unclear', message: 'the nodes disagree; look with `quayside show ga_1`' };
  await database.payouts.stick({ id: 'ga_1', generation: 0, why, freezes: false, nowMs });
  const sweep = {
    kind: 'sweep',
    id: 'sw_1',
    network,
    currency: 'USDT',
    from: [{ index: 3, units: 5_250_000n }],
  } as const;
  await database.payouts.plan([{ intent: sweep, sessionId: null, servesId: null, notBeforeMs: nowMs, nowMs }]);
  const wait = { code: 'native_short', message: 'its address holds 0.0001 ETH, and the fee may be 0.0021 ETH' };
  await database.payouts.recordWait({ id: 'sw_1', generation: 0, wait, nextLookAtMs: nowMs, nowMs });
  const wallet = { network, key: 'ab'.repeat(20), readAtMs: nowMs } as const;
  await database.wallets.recordBalance({
    ...wallet,
    role: 'gas',
    units: { native: 123_456_789_012_345_678n, USDT: 0n },
    low: ['native'],
  });
  await database.wallets.compareBooks({ network, heldUnits: 123_456_789_012_345_678n, nowMs });
  const level = { network, currency: 'USDT', owners: 3, units: 7_500_000n, openUnits: 0n, readAtMs: nowMs } as const;
  await database.sweeps.recordUnswept(network, [level]);
}

/** The pages of an operator. The last one does not exist. */
const operatorPages = [
  ['overview', '/operator'],
  ['stores', '/operator/stores'],
  ['money-out', '/operator/money'],
  ['alarms', '/operator/alarms'],
  ['audit', '/operator/audit'],
  ['missing', '/operator/nothing'],
] as const;

/**
 * The answers of forms: what confirms, with and without the second factor, what is wrong, what is shown once. `owner`
 * proved the second factor just now, `unproved` too long ago.
 */
async function answerPages(dashboard: Dashboard, owner: Visitor, unproved: Visitor): Promise<readonly DashboardPage[]> {
  const { api } = dashboard;
  const store = `/s/${api.merchantId}/test`;
  const tokens = { owner: await formTokenOf(owner), unproved: await formTokenOf(unproved) };
  let guests = 0;
  const key = { name: 'Shop', 'sessions:read': 'on', 'refunds:write': 'on', expires: '90d', from: '203.0.113.0/24' };
  const by = (name: 'owner' | 'unproved', to: string, fields: () => Readonly<Record<string, string>>) => ({
    path: '/account',
    cookie: (name === 'owner' ? owner : unproved).cookie(),
    form: async () => ({ to: store + to, fields: { form_token: tokens[name], ...fields() } }),
  });
  const nobody = { path: '/sign-in', cookie: '' };
  const link = async (password: string) => {
    const { token } = await dashboard.invite(`Guest ${++guests}`, { role: 'staff', storeId: api.merchantId });
    return { to: `/link/${token}`, fields: { password, code: dashboard.code(token) } };
  };
  const guest = () => ({ name: `Guest ${++guests}`, role: 'staff', confirmed: 'yes' });
  const settings = {
    name: 'Tea',
    zone: 'Asia/Tokyo',
    settlement: 'USDC',
    tolerance: '7',
    grace: '45',
    monitoring: '9',
    late: 'accept',
    refundWindow: '9',
    refundDaily: '9',
    refundAutomatic: '9',
    refundCancelWindow: '9',
    refundClaim: '9',
    accent: '#ffee00',
    origins: 'https://shop.example',
  };
  const wrong = { ...key, confirmed: 'yes', code: '000000' };
  return [
    { name: 'recovery-codes', ...nobody, form: () => link(PASSWORD) },
    { name: 'link-fault', ...nobody, status: 400, form: () => link('short') },
    { name: 'review', ...by('owner', '/developers/keys', () => key) },
    { name: 'review-second-factor', ...by('unproved', '/developers/keys', () => key) },
    { name: 'second-factor-wrong', ...by('unproved', '/developers/keys', () => wrong), status: 403 },
    { name: 'review-dangerous', ...by('owner', '/developers/keys/revoke', () => ({ key: api.testKey.id })) },
    { name: 'key-made', ...by('owner', '/developers/keys', () => ({ ...key, confirmed: 'yes' })) },
    { name: 'settings-review', ...by('owner', '/settings', () => settings) },
    { name: 'settings-fault', ...by('owner', '/settings', () => ({ ...settings, accent: 'x' })), status: 400 },
    { name: 'invited', ...by('owner', '/settings/people', guest) },
    { name: 'form-fault', ...by('owner', '/settings/people', () => ({ name: '?', role: 'staff' })), status: 400 },
    { name: 'form-old', ...by('owner', '/settings/people', () => ({ form_token: 'x' })), status: 403 },
  ];
}

/** Fills a dashboard that was just started, and names its pages. */
export async function everyPage(dashboard: Dashboard): Promise<readonly DashboardPage[]> {
  const { api } = dashboard;
  const unproved = await dashboard.person('Ida', { role: 'owner', storeId: api.merchantId });
  api.clock.advance(SUDO_MS);
  await api.follow();
  const owner = await dashboard.person('Grace', { role: 'owner', storeId: api.merchantId });
  const operator = await dashboard.person('Mary', { role: 'operator', storeId: null });
  const { token } = await dashboard.invite('Joan', { role: 'operator', storeId: null });
  const sale = await paidSale(api, { metadata: { customer: 'c-17', note: 'gift' } });
  await openSale(api);
  const made = await fillStore(api, sale);
  await dashboard.invite('Dorothy', { role: 'staff', storeId: api.merchantId });
  await api.database().alarms.keep({
    key: 'network:test:bsc',
    atMs: api.clock.nowMs(),
    code: 'network_behind',
    message: 'test:bsc is 40 blocks behind its node; look at it with `quayside show test:bsc`.',
    network: 'test:bsc',
    sessionId: null,
  });
  await addNotices(api);
  await api.addMerchant('pending');
  await addMoneyOut(api);
  await api.send('GET', '/api/v1/checkout/sessions/cs_none');
  const store = `/s/${api.merchantId}/test`;
  const base = `${store}/payments`;
  return [
    { name: 'sign-in', path: '/sign-in', cookie: '' },
    { name: 'link', path: `/link/${token}`, cookie: '' },
    { name: 'store-overview', path: `${store}/overview`, cookie: owner.cookie() },
    { name: 'store-overview-new', path: `/s/${api.merchantId}/live/overview`, cookie: owner.cookie() },
    { name: 'payments', path: base, cookie: owner.cookie() },
    { name: 'payments-filtered', path: `${base}?status=paid`, cookie: owner.cookie() },
    { name: 'payments-empty', path: `/s/${api.merchantId}/live/payments`, cookie: owner.cookie() },
    { name: 'payment', path: `${base}/${sale.id}`, cookie: owner.cookie() },
    { name: 'refund-form', path: `${base}/${sale.id}/refund`, cookie: owner.cookie() },
    { name: 'refunds', path: `${store}/refunds`, cookie: owner.cookie() },
    { name: 'refunds-filtered', path: `${store}/refunds?status=pending&from=2026-01-01`, cookie: owner.cookie() },
    { name: 'refund-approval', path: `${store}/refunds/${made.approved}`, cookie: owner.cookie() },
    { name: 'refund-asked', path: `${store}/refunds/${made.asked}`, cookie: owner.cookie() },
    { name: 'refund-processing', path: `${store}/refunds/${made.processing}`, cookie: owner.cookie() },
    { name: 'webhooks', path: `${store}/webhooks`, cookie: owner.cookie() },
    { name: 'webhooks-filtered', path: `${store}/webhooks?state=failed`, cookie: owner.cookie() },
    { name: 'endpoint', path: `${store}/webhooks/${made.endpoint}`, cookie: owner.cookie() },
    { name: 'delivery', path: `${store}/webhooks/deliveries/${made.delivery}`, cookie: owner.cookie() },
    { name: 'developers', path: `${store}/developers`, cookie: owner.cookie() },
    { name: 'store-settings', path: `${store}/settings`, cookie: owner.cookie() },
    { name: 'new-store', path: '/stores/new', cookie: owner.cookie() },
    { name: 'account', path: '/account', cookie: owner.cookie() },
    { name: 'sign-in-to-change', path: '/sign-in?change=yes', cookie: owner.cookie() },
    ...(await answerPages(dashboard, owner, unproved)),
    ...operatorPages.map(([name, path]) => ({
      name,
      path,
      cookie: operator.cookie(),
      ...(name === 'missing' && { status: 404 }),
    })),
  ];
}
