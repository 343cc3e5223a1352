/** Refunds after the database was restored from a backup: a lost refund that is repeated is not paid twice. */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import type { Intent } from '../../src/core/intent.ts';
import { renewal } from '../conformance/database/place.ts';
import { type ApiServer, withApi } from '../support/api-server.ts';

const CREATE = '/api/v1/refunds/create';
const payerAddress = chains.evm.address.format('c0ffee'.padStart(40, '1'));
const tx = `0x${'ab'.repeat(32)}`;

/** Requests a refund of 4.50 of a paid session. */
async function ask(server: ApiServer, sessionId: string, amount = '4.50'): Promise<void> {
  const metadata = { refund_address: payerAddress };
  const body = { order_id: sessionId, refund_id: 'lost', amount, currency: 'USDT', metadata };
  assert.is((await server.send('POST', CREATE, body)).status, 201);
  await server.database().refunds.advance(server.clock.nowMs(), 100);
}

const show = async (server: ApiServer) =>
  (await server.send('GET', '/api/v1/refunds/lost')).json as Readonly<Record<string, unknown>>;

async function booksAreSound(server: ApiServer): Promise<void> {
  const { unbalanced, differences, overdrawn, sums } = await server.database().ledger.verify();
  assert.equal(
    { unbalanced, differences, overdrawn, sums },
    { unbalanced: [], differences: [], overdrawn: [], sums: [] },
  );
}

type Forgotten = Readonly<{ sessionId: string; payoutId: string }>;

/** Requests a refund. @returns the status and the error's code */
async function answerOf(server: ApiServer, sessionId: string, refundId: string, amount: string) {
  const metadata = { refund_address: payerAddress };
  const body = { order_id: sessionId, refund_id: refundId, amount, currency: 'USDT', metadata };
  const { status, json } = await server.send('POST', CREATE, body);
  return [status, (json as { error?: { code: string } }).error?.code];
}

/**
 * Sets up a refund that was signed and then lost by a restore; the database has adopted the signer's journal.
 *
 * @param meanwhile runs between the restore and the adoption
 * @param journaled returns the intent as the journal has it
 */
async function forgetAndAdopt(
  server: ApiServer,
  meanwhile = async (_sessionId: string): Promise<void> => {},
  journaled = (intent: Intent): Intent => intent,
): Promise<Forgotten> {
  const database = server.database();
  const made = await server.send('POST', '/api/v1/checkout/sessions/create', {
    amount: 10_00,
    currency: 'USD',
    order_id: 'order-1',
  });
  const session = await database.sessions.find(String((made.json as { id: string }).id));
  assert.ok(session);
  const payment = { to: session.addresses.evm ?? '', currency: 'USDT', units: 10_000_000n } as const;
  const block = await server.chain('ethereum').mine([payment]);
  await server.chain('ethereum').confirm(block);
  await ask(server, session.id);
  const [refund] = await database.refunds.list({ sessionId: session.id, limit: 1 });
  const payout = await database.payouts.find(refund?.id ?? '');
  assert.ok(payout);

  const raw = new Sqlite(server.file);
  raw.pragma('foreign_keys = OFF');
  raw.exec(`
    DELETE FROM ledger_postings WHERE (network, seq) IN (SELECT network, seq FROM ledger_entries WHERE cause = '${payout.id}');
    DELETE FROM ledger_entries WHERE cause = '${payout.id}';
    DELETE FROM payouts; DELETE FROM refunds;`);
  raw.close();

  await meanwhile(session.id);
  const { network, id } = payout;
  const signed = {
    id: 1,
    intent: journaled(payout.intent),
    generation: 0,
    attempt: 0,
    terms: { nonce: '0' },
    signedAtMs: 0,
  };
  const nowMs = server.clock.nowMs();
  const adoption = { ...signed, tx, bytes: new Uint8Array([1]), payer: 'aa'.repeat(20), payerRole: 'refund' } as const;
  assert.is(await database.payouts.adopt(network, { signatures: [adoption], servedFence: 1, nowMs }), 1);
  await database.payouts.recordSent({
    id,
    generation: 0,
    attempt: 0,
    answerCode: 'known',
    answer: 'known',
    refusal: null,
    nowMs,
  });
  return { sessionId: session.id, payoutId: id };
}

/** Lets the payout of the lost refund succeed. */
async function forgetAndPay(server: ApiServer): Promise<string> {
  const { sessionId, payoutId: id } = await forgetAndAdopt(server);
  const outcome = { kind: 'succeeded', ended: { tx, feeUnits: 5n } } as const;
  const nowMs = server.clock.nowMs();
  assert.is(await server.database().payouts.settle({ id, generation: 0, outcome, nowMs }), true);
  await booksAreSound(server);
  return sessionId;
}

test('a lost refund that was paid is completed by that payment when it is requested again', async () => {
  await withApi({}, async (server) => {
    const sessionId = await forgetAndPay(server);
    await ask(server, sessionId);
    const { status, transaction_hash, receipt_number } = await show(server);
    assert.equal({ status, transaction_hash }, { status: 'completed', transaction_hash: tx });
    assert.match(String(receipt_number), /^RF-\d{4}-00000001$/);
    const raw = new Sqlite(server.file, { readonly: true });
    const types = raw.prepare('SELECT type FROM events ORDER BY id').pluck().all();
    raw.close();
    assert.equal(types.slice(-2), ['refund.processing', 'refund.succeeded'], 'events in order');
    assert.equal(await server.database().payouts.open('test:ethereum', server.clock.nowMs() + 3_600_000, 10), []);
    await booksAreSound(server);
  });
});

test('requested again with another amount, it fails, because its id was signed for something else', async () => {
  await withApi({}, async (server) => {
    const sessionId = await forgetAndPay(server);
    await ask(server, sessionId, '3.00');
    const { status, failure_reason } = await show(server);
    assert.equal({ status, failure_reason }, { status: 'failed', failure_reason: 'signed_otherwise' });
    assert.equal(await server.database().payouts.open('test:ethereum', server.clock.nowMs() + 3_600_000, 10), []);
    await booksAreSound(server);
  });
});

test('what was paid counts against its session: a refund under a new id gets no more than is left', async () => {
  await withApi({}, async (server) => {
    const sessionId = await forgetAndPay(server);
    assert.equal(await answerOf(server, sessionId, 'new', '5.51'), [400, 'REFUND_AMOUNT_EXCEEDED']);
    await ask(server, sessionId);
    assert.is((await show(server)).status, 'completed', 'the same id is not counted twice');
    assert.equal(await answerOf(server, sessionId, 'new', '5.51'), [400, 'REFUND_AMOUNT_EXCEEDED']);
    assert.equal(await answerOf(server, sessionId, 'new', '5.50'), [201, undefined]);
    await booksAreSound(server);
  });
});

test('a refund that was made before the journal was adopted is not paid beyond what its session received', async () => {
  await withApi({}, async (server) => {
    const early = async (sessionId: string) => {
      assert.equal(await answerOf(server, sessionId, 'early', '10.00'), [201, undefined]);
      await server.database().refunds.advance(server.clock.nowMs(), 100);
    };
    const { sessionId } = await forgetAndAdopt(server, early);
    const database = server.database();
    const refunds = await database.refunds.list({ sessionId, limit: 10 });
    assert.equal(
      refunds.map(({ refundId, status }) => [refundId, status]),
      [['early', 'processing']],
    );
    const nowMs = server.clock.nowMs() + 3_600_000;
    const own = { id: refunds[0]?.id ?? '', generation: 0, attempt: 0, payer: 'aa'.repeat(20), nonce: 1 } as const;
    const terms = { payerRole: 'refund', terms: { nonce: '1' }, feeUnitsMax: 5n, nowMs } as const;
    const intent = (await database.payouts.find(own.id))?.intent;
    assert.ok(intent);
    assert.equal(await database.payouts.allot({ ...own, ...terms, intent }), { kind: 'moved' });
    assert.is((await database.payouts.find(own.id))?.wait?.code, 'refund_uncovered');
  });
});

test('until the journal is adopted, new refunds are answered with 503 and those that are known as before', async () => {
  await withApi({}, async (server) => {
    const { sessionId } = await forgetAndAdopt(server);
    const database = server.database();
    const nowMs = server.clock.nowMs();
    assert.equal(await answerOf(server, sessionId, 'known', '1.00'), [201, undefined]);
    await database.engines.report('test:ethereum', { code: 'payouts_not_adopted', message: 'it is older' });
    assert.equal(await answerOf(server, sessionId, 'new', '1.00'), [503, 'storage_unavailable']);
    assert.equal(await answerOf(server, sessionId, 'known', '1.00'), [201, undefined]);
    await database.payouts.adopt('test:ethereum', { signatures: [], servedFence: 1, nowMs });
    assert.equal(await answerOf(server, sessionId, 'new', '1.00'), [201, undefined]);
  });
});

test('requested again after its payout failed, it fails for the same reason', async () => {
  await withApi({}, async (server) => {
    const { sessionId, payoutId: id } = await forgetAndAdopt(server);
    const nowMs = server.clock.nowMs();
    await server.database().payouts.renew({ id, generation: 0, ...renewal, notBeforeMs: nowMs, nowMs });
    const outcome = { kind: 'failed', code: 'destination_frozen', message: 'by its issuer' } as const;
    assert.is(await server.database().payouts.settle({ id, generation: 1, outcome, nowMs }), true);
    await ask(server, sessionId);
    const { status, failure_reason } = await show(server);
    assert.equal({ status, failure_reason }, { status: 'failed', failure_reason: 'destination_frozen' });
    await booksAreSound(server);
  });
});

test.run();
