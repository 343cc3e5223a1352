/**
 * Approvers' signatures by page, over real HTTP, with the signer's own rules: the request is what the tool prints, one
 * signature is checked like the tool checks it, and nobody hands one in for a refund that they asked for.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createRefundApprovals } from '../../src/app/refund-approvals.ts';
import { chains } from '../../src/chains/index.ts';
import { SUDO_MS } from '../../src/dashboard/web-session.ts';
import { approverOf, signApproval } from '../../src/signer/approval.ts';
import { readRequestFile, textOf } from '../../src/signer/approval-file.ts';
import { approve } from '../support/approve.ts';
import {
  type Answer,
  confirm,
  type Dashboard,
  textOf as plain,
  plainNetwork,
  type Visitor,
  withDashboard,
} from '../support/dashboard.ts';
import { confirmTip, openSale } from '../support/payment-scenes.ts';

const [anna, bob] = [1, 2].map((byte) => new Uint8Array(32).fill(byte)) as [Uint8Array, Uint8Array];
const folder = mkdtempSync(join(tmpdir(), 'quayside-approver-'));
const requestFile = join(folder, 'request.json');
test.after(() => rmSync(folder, { recursive: true }));
const PAYEE = chains.evm.address.format(`c0ffee${'1'.repeat(34)}`);

type Bench = Dashboard &
  Readonly<{ id: string; path: string; ada: Visitor; grace: Visitor & { token: string }; mary: Visitor }>;

/** A refund that Ada asked for, and that the signer pays only with two signatures. Grace owns the store too. */
const onBench = (work: (bench: Bench) => Promise<void>): Promise<void> =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const sale = await openSale(api);
    await sale.send('10.50');
    await confirmTip(api);
    const membership = { role: 'owner', storeId: api.merchantId } as const;
    const [ada, grace] = [await dashboard.person('Ada', membership), await dashboard.person('Grace', membership)];
    const mary = await dashboard.person('Mary', { role: 'operator', storeId: null });
    const form = `/s/${api.merchantId}/test/payments/${sale.id}/refund`;
    const review = await ada.submit(form, form, { amount: '4.50', currency: 'USDT', address: PAYEE });
    const made = await confirm(ada, form, review);
    const path = (made.headers.get('location') ?? '').split('?')[0] ?? '';
    const id = path.split('/').at(-1) ?? '';
    await api.database().refunds.advance(api.clock.nowMs(), 10);
    await wait(api, id);
    await work({ ...dashboard, id, path, ada, grace, mary });
  });

/** What the payout engine saves when the signer wants a signature. */
async function wait(api: Dashboard['api'], id: string) {
  const nowMs = api.clock.nowMs();
  const message = '4.50 USDT is above the cap per refund of 1.00 USDT and has no valid approval';
  const why = { code: 'signer_refused_approval', message };
  assert.ok(await api.database().recordWait({ id, generation: 0, wait: why, nextLookAtMs: nowMs, nowMs }));
}

/** What `signer approve` writes for the file that the page offers. */
async function signed(visitor: Visitor, path: string, secret: Uint8Array, untilS: number): Promise<string> {
  writeFileSync(requestFile, (await visitor.get(`${path}/request`)).text);
  return JSON.stringify({ approves: 'it', ...signApproval(secret, textOf(readRequestFile(requestFile)), untilS) });
}

const file = (text: string) => ({ approval: Buffer.from(text).toString('base64') });
const laterS = ({ api }: Bench) => Math.floor(api.clock.nowMs() / 1000) + 3600;
const approvers = async ({ api, id }: Bench) =>
  (await api.database().refunds.findBy({ id }))?.approvals.map(({ approver }) => approver);

/** Hands a signature in and confirms. */
async function handIn(visitor: Visitor, path: string, fields: Record<string, string>, more = {}): Promise<Answer> {
  const review = await visitor.submit(path, `${path}/approval`, fields);
  return review.status === 200 ? confirm(visitor, `${path}/approval`, review, more) : review;
}

test('the request is the file that the tool prints, and each signature is kept and recorded', () =>
  onBench(async (bench) => {
    const { api, grace, mary, path, id } = bench;
    const request = await grace.get(`${path}/request`);
    assert.match(request.headers.get('content-disposition') ?? '', `attachment; filename="${id}.json"`);
    const refund = await api.database().refunds.findBy({ id });
    assert.ok(refund);
    const parts = { config: { networks: [plainNetwork] }, database: api.database(), clock: api.clock };
    assert.is(request.text, `${(await createRefundApprovals(parts).request(refund)).join('\n')}\n`);
    assert.match(plain((await grace.get(path)).text), 'Nobody has signed yet.');

    const done = await handIn(grace, path, file(await signed(grace, path, anna, laterS(bench))));
    assert.equal([done.status, done.headers.get('location')?.split('?')[0]], [303, path]);
    assert.match(plain((await grace.get(path)).text), 'does not count yet');

    // The operator, from the payout's page, by its text.
    const payout = `/operator/payouts/${id}`;
    assert.match(plain((await mary.get(payout)).text), 'does not count yet');
    const pasted = await signed(mary, payout, bob, laterS(bench));
    assert.is((await handIn(mary, payout, { approval: '', pasted })).status, 303);
    assert.equal(await approvers(bench), [approverOf(anna), approverOf(bob)]);
    const entries = (await api.database().audit.list(20)).filter(({ command }) => command.startsWith('hand in'));
    assert.equal(
      entries.map(({ operator, target, after }) => [operator, target, after?.approvers]),
      [
        ['Mary (dashboard)', id, `${approverOf(anna)},${approverOf(bob)}`],
        ['Grace (dashboard)', id, approverOf(anna)],
      ],
    );
  }));

test('what cannot be used is refused before anybody confirms, and says what to do', () =>
  onBench(async (bench) => {
    const { api, grace, path, id } = bench;
    const good = await signed(grace, path, anna, laterS(bench));
    const parsed = JSON.parse(good) as Record<string, unknown>;
    const other = JSON.stringify({ ...parsed, signature: 'ab'.repeat(64) });
    for (const [text, says] of [
      ['', 'Choose the file that'],
      ['{"approver":', 'it is not JSON; copy it again'],
      [JSON.stringify({ ...parsed, more: 1 }), 'This is not what'],
      ['x'.repeat(8193), 'more than 8 KiB'],
      [other, 'signed for something else'],
      [await signed(grace, path, anna, laterS(bench) - 3601), 'has expired'],
    ] as const) {
      const answer = await handIn(grace, path, file(text));
      assert.is(answer.status, 400, says);
      assert.match(plain(answer.text), says);
    }
    assert.is((await grace.submit(path, `${path}/approval`, file('x'.repeat(60_000)))).status, 400, 'a large body');
    assert.equal(await approvers(bench), []);

    // The destination changes between the review and the confirmation: what was signed is not what is paid.
    const review = await grace.submit(path, `${path}/approval`, file(good));
    assert.match(review.text, approverOf(anna));
    const act = { atMs: api.clock.nowMs(), operator: 'root', command: 'refund destination', reason: 'x' };
    const address = chains.evm.address.format(`c0ffee${'2'.repeat(34)}`);
    const check = () => ({ kind: 'ok', family: 'evm', key: `c0ffee${'2'.repeat(34)}` }) as const;
    await api.database().refunds.redirect({ by: 'operator', id, address, act, isDryRun: false }, check);
    const late = await confirm(grace, `${path}/approval`, review);
    assert.is(late.status, 400);
    assert.match(late.text, 'signed for something else');
    assert.equal(await approvers(bench), []);
  }));

test('nobody hands in a signature without the second factor', () =>
  onBench(async (bench) => {
    const { api, grace, path, id } = bench;
    const given = file(await signed(grace, path, anna, laterS(bench)));
    api.clock.advance(SUDO_MS);
    const review = await grace.submit(path, `${path}/approval`, given);
    assert.is((await confirm(grace, `${path}/approval`, review)).status, 403, 'without a code');
    assert.equal(await approvers(bench), []);
    const code = bench.code(grace.token);
    assert.is((await confirm(grace, `${path}/approval`, review, { code })).status, 303);
    assert.equal(await approvers(bench), [approverOf(anna)]);

    await api.database().refunds.reject(id, 'x', api.clock.nowMs());
    const ended = await grace.get(path);
    assert.match(plain(ended.text), 'Signatures of approvers', 'who had signed stays');
    assert.not.match(ended.text, `action="${path}/approval"`);
    assert.is((await grace.get(`${path}/request`)).status, 400);
  }));

test('a refund that was sent elsewhere after its approval is approved again on its page', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    await api.database().stores.setRefundPolicy(api.merchantId, { refundAutoMinor: 0 });
    const sale = await openSale(api);
    await sale.send('10.50');
    await confirmTip(api);
    const grace = await dashboard.person('Grace', { role: 'owner', storeId: api.merchantId });
    const metadata = { refund_address: PAYEE };
    await api.send('POST', '/api/v1/refunds/create', {
      ...{ order_id: sale.id, refund_id: 'r-1', amount: '4.50', currency: 'USDT', metadata },
    });
    const [refund] = await api.database().refunds.list({ sessionId: sale.id, limit: 1 });
    const id = refund?.id ?? '';
    await approve(api.database(), id, api.clock.nowMs());
    await api.database().refunds.advance(api.clock.nowMs(), 10);
    const path = `/s/${api.merchantId}/test/refunds/${id}`;
    assert.not.match((await grace.get(path)).text, `${path}/approve`);
    const act = { atMs: api.clock.nowMs(), operator: 'root', command: 'refund destination', reason: 'x' };
    const address = chains.evm.address.format(`c0ffee${'2'.repeat(34)}`);
    const check = () => ({ kind: 'ok', family: 'evm', key: `c0ffee${'2'.repeat(34)}` }) as const;
    await api.database().refunds.redirect({ by: 'operator', id, address, act, isDryRun: false }, check);
    assert.match(plain((await grace.get(path)).text), /processing needs approval/);
    const review = await grace.submit(path, `${path}/approve`);
    assert.is((await confirm(grace, `${path}/approve`, review)).status, 303);
    assert.is.not((await api.database().refunds.findBy({ id }))?.approvedAtMs, null);
  }));

test.run();
