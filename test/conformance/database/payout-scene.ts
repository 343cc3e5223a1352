/** Payouts of one wallet of network one, as their engine plans, signs and sends them. */
import * as assert from 'uvu/assert';
import type { Intent, RefundIntent, SweepIntent } from '../../../src/core/intent.ts';
import type { Reason } from '../../../src/core/reasons.ts';
import type { Database } from '../../../src/database/database.ts';
import type { JournaledSignature } from '../../../src/database/payouts/attempts.ts';
import { refundIntent } from '../../support/intents.ts';
import { counted } from '../../support/nonces.ts';
import { inWorlds, renewal, T0_MS } from './place.ts';

export const network = 'test:one';
export const payer = 'a'.repeat(40);
type SentAnswer = Readonly<{ answerCode: string; answer: string; refusal: Reason | null }>;

export const refund = (id: string, more: Partial<RefundIntent> = {}): RefundIntent =>
  refundIntent({ id, network, to: 'b'.repeat(40), ...more });

export const sweep = (id: string): SweepIntent => ({
  kind: 'sweep',
  id,
  network,
  currency: 'USDT',
  from: [{ index: 3, units: 9n }],
});

/** Plans payouts that are due at once. */
export const plan = (database: Database, ...intents: readonly Intent[]) =>
  database.payouts.plan(
    intents.map((intent) => ({ intent, sessionId: null, servesId: null, notBeforeMs: T0_MS, nowMs: T0_MS })),
  );

export const name = (id: string, generation = 0, attempt = 0) => ({ id, generation, attempt });

/** Differences from the first attempt of the first generation, with nonce 0. */
export type Wish = { generation?: number; attempt?: number; nonce?: number | null; nowMs?: number; payer?: string };

const termsOf = ({ generation = 0, attempt = 0, nonce = 0 }: Wish) => ({
  ...(nonce !== null && { nonce: String(nonce) }),
  salt: `${generation}.${attempt}`,
});

export async function allot(database: Database, id: string, wish: Wish = {}) {
  const { generation = 0, attempt = 0, nonce = 0, nowMs = T0_MS } = wish;
  const own = { ...name(id, generation, attempt), payer, payerRole: 'refund', nonce, ...wish } as const;
  const intent = (await database.payouts.find(id))?.intent;
  assert.ok(intent, id);
  return database.payouts.allot({ ...own, intent, terms: termsOf(wish), feeUnitsMax: 100n, nowMs });
}

export const txOf = (id: string, generation = 0, attempt = 0): string => `tx of ${id} ${generation}.${attempt}`;

/** @param id of the signature in the signer's journal */
export const signatureOf = (intent: Intent, id: number, wish: Wish = {}): JournaledSignature => ({
  id,
  intent,
  generation: wish.generation ?? 0,
  attempt: wish.attempt ?? 0,
  terms: termsOf(wish),
  tx: txOf(intent.id, wish.generation, wish.attempt),
  bytes: new Uint8Array([1, 2, id]),
  signedAtMs: T0_MS,
});

const accepted = { answerCode: 'accepted', answer: 'accepted', refusal: null };

/** Records that a first attempt was sent, and what the node said. */
export const sent = (database: Database, id: string, generation = 0, said: SentAnswer = accepted) =>
  database.payouts.recordSent({ ...name(id, generation), ...said, nowMs: T0_MS });

/** Settles a payout as paid by the first attempt of a generation. */
export const succeed = (database: Database, id: string, generation = 0, feeUnits = 3n, tx = txOf(id, generation)) =>
  database.payouts.settle({ id, generation, outcome: { kind: 'succeeded', ended: { tx, feeUnits } }, nowMs: T0_MS });

/** Ends the first generation as one that can no longer be paid, unless something else is said. */
export const renew = (database: Database, id: string, more: object = {}) =>
  database.payouts.renew({ id, generation: 0, ...renewal, nowMs: T0_MS, ...more });

/** Returns the ids of what is open now. */
export const openIds = async (database: Database, limit = 10, nowMs = T0_MS) =>
  (await database.payouts.open(network, nowMs, limit)).map(({ payout }) => payout.id);

/** Allots, signs and sends an attempt of a payout. */
export async function bringOut(database: Database, intent: Intent, journalId: number, wish: Wish = {}) {
  assert.is((await allot(database, intent.id, wish)).kind, 'allotted');
  assert.is(await database.payouts.recordSigned(network, [signatureOf(intent, journalId, wish)]), null);
  await sent(database, intent.id, wish.generation);
}

export const stateOf = async (database: Database, id: string) => (await database.payouts.find(id))?.state;

/** A suite whose tests begin with the wallet's nonce 0, and a fence under which signatures are recorded. */
export function inPayoutWorlds(suite: string) {
  const test = inWorlds(suite);
  const readyTest = (title: string, work: (database: Database) => Promise<void>) =>
    test(title, async ({ database }) => {
      assert.is(await database.engines.nextFence(network, 0), 1);
      assert.equal(await database.payouts.offerNonce(network, payer, counted(0), T0_MS), { kind: 'free', nonce: 0 });
      await work(database);
    });
  return { test, readyTest };
}
