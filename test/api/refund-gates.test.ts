/**
 * Gates before a refund's first attempt: a final payment, an approval, a store that is not suspended, a payment that is
 * still there, a transfer that may have paid it already, and a journal that is adopted after a restore.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import type { Intent } from '../../src/core/intent.ts';
import { renewal } from '../conformance/database/place.ts';
import { type ApiServer, withApi } from '../support/api-server.ts';
import { approve } from '../support/approve.ts';
import {
  advanceRefunds,
  allotRefund,
  askRefund,
  confirmTip,
  decideStore,
  finalizeTip,
  finalSale,
  findRefund,
  leaveAddress,
  paidSale,
  paidTo,
  type Sale,
} from '../support/payment-scenes.ts';
import { raw, rawly } from '../support/raw.ts';
import type { HttpAnswer } from '../support/signed-client.ts';
import { thawAll } from '../support/thaw.ts';

const network = 'test:ethereum';
const payer = 'ab'.repeat(20);
/** Base units of what is refunded here. */
const UNITS = 4_500_000n;
const codeOf = ({ status, json }: HttpAnswer) => [status, (json as { error?: { code: string } }).error?.code];
const alarmsOf = async (api: ApiServer, code: string) =>
  (await api.database().alarms.list(100)).filter((one) => one.code === code).length;

/** Asks for a refund that may start, and waits until its first attempt is due. */
async function refundDue(api: ApiServer, sale: Sale, refundId: string, more: object = {}): Promise<void> {
  const answer = await askRefund(api, sale, refundId, { ...paidTo(), ...more });
  assert.is(answer.status, 201, answer.text);
  await advanceRefunds(api);
  api.clock.advance(61_000);
}

test('a refund leaves when its payment is final, or earlier up to what the store allows', () =>
  withApi({}, async (api) => {
    const sale = await paidSale(api);
    await refundDue(api, sale, 'r-1');
    const { kind, waitsFor } = await allotRefund(api, 'r-1');
    assert.equal({ kind, waitsFor }, { kind: 'moved', waitsFor: 'refund_not_final' });
    assert.equal(await api.database().alarms.list(10), [], 'that is no reason for an alarm');
    const allotWith = async (refundEarlyMaxMinor: number) => {
      await api.database().stores.update(api.merchantId, { refundEarlyMaxMinor });
      api.clock.advance(61_000);
      return (await allotRefund(api, 'r-1')).kind;
    };
    assert.is(await allotWith(4_49), 'moved');
    assert.is(await allotWith(4_50), 'allotted');
    await refundDue(api, sale, 'r-2', { amount: '0.01' });
    const many = await allotRefund(api, 'r-2');
    assert.is(many.waitsFor, 'refund_not_final', 'many small ones are not refunded early either');
    await finalizeTip(api);
    api.clock.advance(61_000);
    assert.is((await allotRefund(api, 'r-2')).kind, 'allotted');
  }));

/** Each stops a refund that is not signed with one alarm, until something else lets it go on. */
const stops: readonly Readonly<{
  code: string;
  stop(api: ApiServer): Promise<unknown>;
  goOn(api: ApiServer, sale: Sale): Promise<unknown>;
}>[] = [
  {
    code: 'refund_store_suspended',
    async stop(api) {
      await finalizeTip(api);
      await decideStore(api, 'suspend');
    },
    goOn: (api) => decideStore(api, 'approve'),
  },
  {
    code: 'refund_uncovered',
    stop: (api) => api.chain('ethereum').orphanTip(),
    async goOn(api, sale) {
      await sale.send('10.50');
      await confirmTip(api);
      await finalizeTip(api);
    },
  },
  {
    code: 'refund_unapproved',
    async stop(api) {
      await finalizeTip(api);
      await api.database().stores.update(api.merchantId, { refundAutoMinor: 1_00 });
      assert.is((await redirect(api, chosen)).status, 200);
      api.clock.advance(61_000);
    },
    goOn: async (api) => approve(api.database(), (await findRefund(api, 'r-1')).id, api.clock.nowMs()),
  },
];
for (const { code, stop, goOn } of stops) {
  test(`a refund that is not signed waits with ${code} and one alarm, and goes on afterwards`, () =>
    withApi({}, async (api) => {
      const sale = await paidSale(api);
      await refundDue(api, sale, 'r-1');
      await stop(api);
      const allotted = async () => {
        const { kind, waitsFor } = await allotRefund(api, 'r-1');
        return { kind, waitsFor };
      };
      for (let look = 0; look < 2; look++) {
        assert.equal(await allotted(), { kind: 'moved', waitsFor: code });
        api.clock.advance(300_000);
      }
      assert.is(await alarmsOf(api, code), 1);
      await goOn(api, sale);
      assert.equal(await allotted(), { kind: 'allotted', waitsFor: undefined });
    }));
}

test('an approval that the signer needs takes effect at once, and shortens no other wait', () =>
  withApi({}, async (api) => {
    const database = api.database();
    await askRefund(api, await paidSale(api), 'beyond', paidTo());
    await advanceRefunds(api);
    const { id } = await findRefund(api, 'beyond');
    const isDue = async () => (await database.payouts.open(network, api.clock.nowMs(), 10)).length === 1;
    const approveIt = () => approve(database, id, api.clock.nowMs());
    await approveIt();
    assert.is(await isDue(), false, 'it can still be canceled');
    api.clock.advance(60_000);
    assert.is(await isDue(), true);
    const wait = { code: 'signer_refused_approval', message: 'above the cap' };
    const nowMs = api.clock.nowMs();
    await database.payouts.recordWait({ id, generation: 0, wait, nextLookAtMs: nowMs + 300_000, nowMs });
    assert.is(await isDue(), false);
    await approveIt();
    assert.is(await isDue(), true);
  }));

// ── A transfer that may have paid it already ─────────────────────────────────────────────────────────────────────────

const [left, claimed, chosen] = ['bb', 'cc', 'dd'].map((start) => chains.evm.address.format(start.padEnd(40, '7'))) as [
  string,
  string,
  string,
];
const keyOf = (text: string) => chains.evm.address.parse(text) ?? '';

const redirect = (api: ApiServer, address: string) => api.send('POST', '/api/v1/refunds/r-1/destination', { address });
async function shown(api: ApiServer) {
  const { json } = await api.send('GET', '/api/v1/refunds/r-1');
  const { destination, destination_source: source } = json as Readonly<Record<string, { address: string } | string>>;
  return { to: (destination as { address: string }).address, source };
}

/** Adds a final block in which the refund wallet pays somebody, of which the database knows no payout. */
async function payUnknown(api: ApiServer, to: string, units: bigint): Promise<void> {
  const from = 'a1'.repeat(20);
  await api.database().wallets.recordOwn(network, { refund: from });
  const chain = api.chain('ethereum');
  await chain.finalize(await chain.mine([{ from, to, currency: 'USDT', units, isOutgoing: true }]));
}

/** Opens a refund to an address that a payer left, which waits for approval. */
async function leftRefund(api: ApiServer, before = async () => {}): Promise<Sale> {
  await api.database().stores.update(api.merchantId, { refundAutoMinor: 1_00 });
  const sale = await finalSale(api);
  await leaveAddress(api, sale, left);
  await before();
  await askRefund(api, sale, 'r-1');
  return sale;
}

for (const [isKnown, code] of [
  [false, 'refund_maybe_paid'],
  [true, 'refund_equals_transfer'],
] as const) {
  test(`a refund that waits for approval keeps its address while it may have been paid there: ${code}`, () =>
    withApi({ pages: true }, async (api) => {
      const database = api.database();
      const act = { atMs: api.clock.nowMs(), operator: 'anna', command: 'payout thaw', reason: 'looked' };
      const sale = await leftRefund(api, async () => {
        if (!isKnown) return;
        await payUnknown(api, keyOf(left), UNITS);
        await database.wallets.judge(network, act.atMs);
        await thawAll(database, network, act);
      });
      const { id } = await findRefund(api, 'r-1');
      const check = () => ({ kind: 'ok', family: 'evm', key: keyOf(chosen) }) as const;
      const isKept = async () => {
        assert.is((await leaveAddress(api, sale, claimed)).status, 303);
        assert.equal(codeOf(await redirect(api, chosen)), [400, 'CANNOT_CHANGE_DESTINATION']);
        const wish = { by: 'operator', id, address: chosen, act, isDryRun: false } as const;
        assert.is((await database.refunds.redirect(wish, check)).kind, 'fixed');
        assert.is(await database.refunds.reject(id, 'no', act.atMs), false);
        assert.equal(await shown(api), { to: left, source: 'payer' });
        assert.equal(await database.refunds.addresses(sale.id), { [network]: keyOf(left) });
      };
      await database.engines.settle(network, 0);
      await isKept();
      await database.engines.settle(network, null);
      if (!isKnown) await payUnknown(api, keyOf(left), UNITS);
      await isKept();
      await approve(database, id, act.atMs);
      await advanceRefunds(api);
      api.clock.advance(61_000);
      const { kind, waitsFor } = await allotRefund(api, 'r-1');
      assert.equal({ kind, waitsFor }, { kind: 'moved', waitsFor: code });
    }));
}

test('a refund that waits for approval is given another address where no transfer equals it', () =>
  withApi({ pages: true }, async (api) => {
    const sale = await leftRefund(api);
    await payUnknown(api, keyOf(left), UNITS + 1n);
    assert.is((await leaveAddress(api, sale, claimed)).status, 303);
    assert.equal(await shown(api), { to: claimed, source: 'payer' });
    await redirect(api, chosen);
    assert.equal(await shown(api), { to: chosen, source: 'merchant' });
    const { id } = await findRefund(api, 'r-1');
    assert.is(await api.database().refunds.reject(id, 'no', api.clock.nowMs()), true);
  }));

// ── After the database was restored from a backup: a lost refund that is repeated is not paid twice ──────────────────

const tx = `0x${'ab'.repeat(32)}`;
/** The lost refund, requested as before. */
const askLost = async (api: ApiServer, sale: Sale, more: object = {}) => {
  assert.is((await askRefund(api, sale, 'lost', { ...paidTo(), ...more })).status, 201);
  await advanceRefunds(api);
};
const askNew = async (api: ApiServer, sale: Sale, refundId: string, amount: string) =>
  codeOf(await askRefund(api, sale, refundId, { ...paidTo(), amount }));
const show = async (api: ApiServer) =>
  (await api.send('GET', '/api/v1/refunds/lost')).json as Readonly<Record<string, unknown>>;

async function booksAreSound(api: ApiServer): Promise<void> {
  assert.equal((await api.database().ledger.verify()).problems, []);
}

/**
 * Sets up a refund that was signed and then lost by a restore; the database has adopted the signer's journal.
 * @param meanwhile runs between the restore and the adoption
 */
async function forgetAndAdopt(api: ApiServer, meanwhile = async (_sale: Sale): Promise<void> => {}) {
  const database = api.database();
  const sale = await paidSale(api);
  await askLost(api, sale);
  const { id } = await findRefund(api, 'lost');
  const intent = (await database.payouts.find(id))?.intent as Intent;
  rawly(
    api.file,
    `DELETE FROM ledger_postings WHERE (network, seq) IN (SELECT network, seq FROM ledger_entries WHERE cause = '${id}');
    DELETE FROM ledger_entries WHERE cause = '${id}';
    DELETE FROM payouts; DELETE FROM refunds;`,
  );

  await meanwhile(sale);
  const nowMs = api.clock.nowMs();
  const attempt = { id: 1, intent, generation: 0, attempt: 0, terms: { nonce: '0' }, signedAtMs: 0 };
  const signed = { ...attempt, tx, bytes: new Uint8Array([1]), payer, payerRole: 'refund' } as const;
  assert.is(await database.payouts.adopt(network, { signatures: [signed], servedFence: 1, nowMs }), 1);
  const sent = { id, generation: 0, attempt: 0, answerCode: 'known', answer: 'known', refusal: null, nowMs } as const;
  await database.payouts.recordSent(sent);
  return { sale, id };
}

/** Lets the payout of the lost refund succeed. */
async function forgetAndPay(api: ApiServer): Promise<Sale> {
  const { sale, id } = await forgetAndAdopt(api);
  const outcome = { kind: 'succeeded', ended: { tx, feeUnits: 5n } } as const;
  assert.is(await api.database().payouts.settle({ id, generation: 0, outcome, nowMs: api.clock.nowMs() }), true);
  await booksAreSound(api);
  return sale;
}

test('a lost refund that was paid is completed by that payment when it is requested again', () =>
  withApi({}, async (api) => {
    await askLost(api, await forgetAndPay(api));
    const { status, transaction_hash, receipt_number } = await show(api);
    assert.equal({ status, transaction_hash }, { status: 'completed', transaction_hash: tx });
    assert.match(String(receipt_number), /^RF-\d{4}-00000001$/);
    const types = raw(api.file, (client) => client.prepare('SELECT type FROM events ORDER BY id').pluck().all());
    assert.equal(types.slice(-2), ['refund.processing', 'refund.succeeded'], 'events in order');
    assert.equal(await api.database().payouts.open(network, api.clock.nowMs() + 3_600_000, 10), []);
    await booksAreSound(api);
  }));

test('requested again with another amount, it fails, because its id was signed for something else', () =>
  withApi({}, async (api) => {
    await askLost(api, await forgetAndPay(api), { amount: '3.00' });
    const { status, failure_reason } = await show(api);
    assert.equal({ status, failure_reason }, { status: 'failed', failure_reason: 'signed_otherwise' });
    assert.equal(await api.database().payouts.open(network, api.clock.nowMs() + 3_600_000, 10), []);
    await booksAreSound(api);
  }));

test('what was paid counts against its session: a refund under a new id gets no more than is left', () =>
  withApi({}, async (api) => {
    const sale = await forgetAndPay(api);
    assert.equal(await askNew(api, sale, 'new', '6.01'), [400, 'REFUND_AMOUNT_EXCEEDED']);
    await askLost(api, sale);
    assert.is((await show(api)).status, 'completed', 'the same id is not counted twice');
    assert.equal(await askNew(api, sale, 'new', '6.01'), [400, 'REFUND_AMOUNT_EXCEEDED']);
    assert.equal(await askNew(api, sale, 'new', '6.00'), [201, undefined]);
    await booksAreSound(api);
  }));

test('a refund that was made before the journal was adopted is not paid beyond what its session received', () =>
  withApi({}, async (api) => {
    await forgetAndAdopt(api, async (sale) => {
      assert.equal(await askNew(api, sale, 'early', '10.50'), [201, undefined]);
      await advanceRefunds(api);
    });
    assert.is((await findRefund(api, 'early')).status, 'processing');
    api.clock.advance(3_600_000);
    const { kind, waitsFor } = await allotRefund(api, 'early');
    assert.equal({ kind, waitsFor }, { kind: 'moved', waitsFor: 'refund_uncovered' });
  }));

test('requested again after its payout failed, it fails for the same reason', () =>
  withApi({}, async (api) => {
    const { sale, id } = await forgetAndAdopt(api);
    const nowMs = api.clock.nowMs();
    await api.database().payouts.renew({ id, generation: 0, ...renewal, notBeforeMs: nowMs, nowMs });
    const outcome = { kind: 'failed', code: 'destination_frozen', message: 'by its issuer' } as const;
    assert.is(await api.database().payouts.settle({ id, generation: 1, outcome, nowMs }), true);
    await askLost(api, sale);
    const { status, failure_reason } = await show(api);
    assert.equal({ status, failure_reason }, { status: 'failed', failure_reason: 'destination_frozen' });
    await booksAreSound(api);
  }));

test.run();
