import * as assert from 'uvu/assert';
import type { Database } from '../../../src/database/database.ts';
import type { Adoption } from '../../../src/database/payouts/engines.ts';
import { column, has } from '../../support/fields.ts';
import { counted } from '../../support/nonces.ts';
import { allot, network, payer, plan as planPayouts, refund } from './payout-scene.ts';
import { inWorlds, renewal, T0_MS } from './place.ts';

const signature = (id: number, intentId: string, nonce: number, generation = 0, attempt = 0): Adoption => ({
  id,
  intent: refund(intentId),
  generation,
  attempt,
  terms: { nonce: String(nonce), salt: `${generation}.${attempt}` },
  tx: `tx ${id}`,
  bytes: new Uint8Array([id]),
  signedAtMs: T0_MS,
  payer,
  payerRole: 'refund',
});

const plan = (database: Database, id: string) => planPayouts(database, refund(id));

/** Allots a nonce to a payout that is never signed. */
async function allotInVain(database: Database, id: string, nonce: number) {
  await database.payouts.offerNonce(network, payer, counted(nonce), T0_MS);
  assert.is((await allot(database, id, { nonce })).kind, 'allotted');
}

const adopt = (database: Database, ...signatures: readonly Adoption[]) =>
  database.payouts.adopt(network, { signatures, servedFence: 9, nowMs: T0_MS });

const adoptRest = (database: Database, signatures: readonly Adoption[]) =>
  database.payouts.adopt(network, { signatures, isContinued: true, servedFence: 9, nowMs: T0_MS });

const test = inWorlds('adoption');

test('an empty database adopts every payout, its newest generation and the next number', async ({ database }) => {
  const added = await adopt(database, signature(1, 'r1', 0), signature(2, 'r2', 1), signature(3, 'r1', 2, 1));
  assert.is(added, 3);
  has(await database.payouts.find('r1'), { state: 'sent', generation: 1, proof: 'failed' });
  assert.equal(
    (await database.payouts.open(network, T0_MS, 10)).map(({ attempts }) => attempts.length),
    [1, 1],
  );
  assert.equal(await database.payouts.offerNonce(network, payer, counted(3), T0_MS), { kind: 'free', nonce: 3 });
  assert.is(await database.engines.nextFence(network, 9), 10);
  assert.is((await database.engines.list())[0]?.journalId, 3);
  assert.is(await adopt(database, signature(1, 'r1', 0), signature(2, 'r2', 1), signature(3, 'r1', 2, 1)), 0);
});

test('the nonce of an unsigned payout goes to the payout that was signed with it', async ({ database }) => {
  await plan(database, 'mine');
  await allotInVain(database, 'mine', 4);
  assert.is(await adopt(database, signature(1, 'theirs', 4)), 1);
  assert.is((await database.payouts.find('mine'))?.state, 'waiting');
  assert.equal(await database.payouts.attempts('mine'), []);
  assert.is((await database.payouts.find('theirs'))?.state, 'sent');
  assert.equal(await database.payouts.offerNonce(network, payer, counted(5), T0_MS), { kind: 'free', nonce: 5 });
});

test('a signed attempt is recorded; an unsigned one frees its number', async ({ database }) => {
  await plan(database, 'r1');
  await allotInVain(database, 'r1', 0);
  assert.is(await adopt(database), 0);
  assert.is((await database.payouts.find('r1'))?.state, 'waiting');
  assert.equal(await database.payouts.offerNonce(network, payer, counted(0), T0_MS), { kind: 'free', nonce: 0 });
  await allotInVain(database, 'r1', 0);
  await adopt(database, signature(1, 'r1', 0));
  const [attempt] = await database.payouts.attempts('r1');
  assert.is(attempt?.tx, 'tx 1');
});

test('what was concluded without knowing a signature is asked again', async ({ database }) => {
  await database.engines.nextFence(network, 0);
  await plan(database, 'r1');
  await allotInVain(database, 'r1', 0);
  await database.payouts.recordSigned(network, [signature(1, 'r1', 0)]);
  await database.payouts.renew({ id: 'r1', generation: 0, ...renewal, nowMs: T0_MS });
  const replacement = { ...signature(2, 'r1', 0, 0, 1) };
  assert.is(await adopt(database, signature(1, 'r1', 0), replacement), 1);
  has(await database.payouts.find('r1'), { state: 'sent', generation: 0, proof: null });
});

test('a payout that has ended here but was signed is carried out, with an alarm', async ({ database }) => {
  await plan(database, 'r1');
  await database.payouts.cancel('r1', T0_MS);
  await adopt(database, signature(1, 'r1', 0));
  assert.is((await database.payouts.find('r1'))?.state, 'sent');
  assert.equal(column(await database.alarms.list(10), 'code'), ['payout_paid_after_end']);
});

test('a refund that was requested again before its signature was adopted is not signed once more', async ({
  database,
}) => {
  await planPayouts(database, refund('r1', { to: 'f'.repeat(40) }));
  await database.payouts.offerNonce(network, payer, counted(0), T0_MS);
  await adopt(database, signature(1, 'r1', 0));
  assert.is((await database.payouts.find('r1'))?.state, 'sent');
  assert.is((await allot(database, 'r1', { nonce: 1 })).kind, 'moved');
  assert.is((await database.payouts.attempts('r1')).length, 1);
});

test('a journal in parts: nothing is signed before the last one', async ({ database }) => {
  await plan(database, 'mine');
  await allotInVain(database, 'mine', 4);
  const first = [signature(1, 'r1', 0), signature(2, 'r2', 1), signature(3, 'theirs', 4)];
  const second = [signature(4, 'r1', 5, 1), signature(5, 'r3', 6)];
  const part = { servedFence: null, nowMs: T0_MS };
  assert.is(await database.payouts.adopt(network, { ...part, signatures: first }), 3);
  assert.is(await database.engines.nextFence(network, 9), null, 'the engine must wait');
  assert.is((await database.payouts.find('r1'))?.generation, 0);
  // The command was killed here. Run again, it starts with the first part.
  assert.is(await database.payouts.adopt(network, { ...part, signatures: first }), 0);
  assert.is(await database.engines.nextFence(network, 9), null);
  assert.is(await adoptRest(database, second), 2);
  has(await database.payouts.find('r1'), { state: 'sent', generation: 1, proof: 'failed' });
  assert.is((await database.payouts.find('mine'))?.state, 'waiting');
  assert.equal(await database.payouts.offerNonce(network, payer, counted(7), T0_MS), { kind: 'free', nonce: 7 });
  assert.is((await database.engines.list())[0]?.journalId, 5);
  assert.is(await database.engines.nextFence(network, 9), 10);
});

test('a later part deletes no attempt that was allotted after the first one', async ({ database }) => {
  await database.payouts.adopt(network, { signatures: [signature(1, 'r1', 0)], servedFence: null, nowMs: T0_MS });
  await plan(database, 'mine');
  await allotInVain(database, 'mine', 1);
  await adoptRest(database, [signature(2, 'r2', 5)]);
  assert.is((await database.payouts.attempts('mine')).length, 1);
  assert.is((await database.payouts.offerNonce(network, payer, counted(0), T0_MS)).kind, 'busy');
});

test('an older signature that was missing does not bring a payout back to it', async ({ database }) => {
  await adopt(database, signature(2, 'r1', 3, 1));
  assert.is(await adopt(database, signature(1, 'r1', 0), signature(2, 'r1', 3, 1)), 1);
  has(await database.payouts.find('r1'), { generation: 1, proof: 'failed' });
});

const attemptsOf = async (database: Database, id: string) =>
  (await database.payouts.attempts(id)).map((one) => [one.generation, one.attempt, one.nonce, one.tx, one.feeUnits]);

test('a payment learned from the chain is not added again from the journal', async ({ database }) => {
  await database.engines.nextFence(network, 0);
  await plan(database, 'r1');
  await database.payouts.offerNonce(network, payer, counted(0), T0_MS);
  const learned = { payer, payerRole: 'refund', nonce: 0 } as const;
  const conclusion = { kind: 'paid', tx: 'tx 2', feeUnits: 7n, generation: null, learned } as const;
  const act = { operator: 'ada', command: 'payout resolve', atMs: T0_MS, reason: null };
  const seen = { state: 'waiting', generation: 0, attemptCount: 0 } as const;
  assert.ok(await database.payouts.conclude({ id: 'r1', seen, conclusion, act }));
  // The journal may have it as an attempt of a refund that is not known here: it is not paid once more.
  const lost = signature(2, 'lost', 1);
  assert.is(await adopt(database, signature(1, 'r1', 0), lost), 1);
  assert.equal(await attemptsOf(database, 'r1'), [
    [0, -1, null, 'tx 2', 7n],
    [0, 0, 0, 'tx 1', null],
  ]);
  assert.is(await database.payouts.find('lost'), null);
  assert.equal(await database.payouts.offerNonce(network, payer, counted(2), T0_MS), { kind: 'free', nonce: 2 });
  has(await database.payouts.find('r1'), { state: 'succeeded', tx: 'tx 2' });
});

test.run();
