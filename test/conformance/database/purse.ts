/** Money out of one network in a history: its engine, its signer, and how its chain takes what they send. */
import * as assert from 'uvu/assert';
import type { OpenPayout } from '../../../src/database/payouts/attempts.ts';
import { counted } from '../../support/nonces.ts';
import { payer, signatureOf } from './payout-scene.ts';
import { type Feed, renewal } from './place.ts';

/** `blocked`: the token refuses its receiver. `failed`: it costs its fee and is signed again. `sent`: not mined yet. */
export const payoutEndings = ['succeeded', 'blocked', 'failed', 'sent'] as const;
export type PayoutEnding = (typeof payoutEndings)[number];

const payee = 'b'.repeat(40);
const shop = { storeId: 'm1', mode: 'test' } as const;
const replay = { idempotencyKey: null, path: '/refunds', bodyHash: '' };

/** Asks for a refund of a session, as a merchant does. @returns its id; null if it is refused */
export async function askForRefund({ database, nowMs }: Feed, refundId: string, sessionId: string, minor: bigint) {
  const asked = { refundId, sessionId, amountMinor: minor, currency: 'USDT', refundAddress: payee } as const;
  const outcome = await database.refunds.create(
    { ...shop, ...asked, reason: null, description: null, metadata: null, replay, nowMs },
    (_network, key) => ({ kind: 'ok', family: 'evm', key }),
  );
  return outcome.kind === 'created' ? outcome.refund.id : null;
}

/** Cancels a refund. @returns whether it was still possible */
export async function cancelRefund({ database, nowMs }: Feed, refundId: string): Promise<boolean> {
  return (await database.refunds.cancel({ ...shop, refundId, replay, nowMs })).kind === 'done';
}

export class Purse {
  readonly feed: Feed;
  /** Refunds that the chain has paid, with their base units. */
  readonly paid = new Map<string, bigint>();
  /** Refunds that it never will. */
  readonly refused = new Set<string>();
  #fence = 0;
  #nonce = 0;

  constructor(feed: Feed) {
    this.feed = feed;
  }

  /** Starts the engine, as a new process does. */
  async begin(): Promise<void> {
    const fence = await this.feed.database.engines.nextFence(this.feed.network, this.#fence);
    assert.is(fence, this.#fence + 1);
    this.#fence += 1;
  }

  /** Settles what is on its way, and brings out what may leave. */
  async work(ending: PayoutEnding): Promise<void> {
    const { database, network, nowMs } = this.feed;
    await database.refunds.advance(nowMs, 10);
    for (const open of await database.payouts.open(network, nowMs, 10)) {
      if (open.payout.state === 'sent') await this.#settle(open, ending);
      else if (ending === 'blocked') await this.#block(open);
      else await this.#bringOut(open);
    }
  }

  async #bringOut({ payout: { id, intent, generation } }: OpenPayout): Promise<void> {
    const { database, network, nowMs } = this.feed;
    assert.ok(intent.kind === 'refund' && !this.paid.has(id) && !this.refused.has(id), `${id} is paid once`);
    const nonce = this.#nonce;
    assert.equal(await database.payouts.offerNonce(network, payer, counted(nonce), nowMs), { kind: 'free', nonce });
    const signature = signatureOf(intent, nonce + 1, { generation, nonce });
    const attempt = { id, generation, attempt: 0, payer, payerRole: 'refund', nonce } as const;
    const draft = { ...attempt, intent, terms: signature.terms, feeUnitsMax: 100n, nowMs };
    if ((await database.payouts.allot(draft)).kind !== 'allotted') return;
    this.#nonce += 1;
    assert.is(await database.payouts.recordSigned(network, [signature]), null);
    const answer = { answerCode: 'accepted', answer: 'accepted', refusal: null };
    await database.payouts.recordSent({ id, generation, attempt: 0, ...answer, nowMs });
  }

  async #block({ payout: { id, generation } }: OpenPayout): Promise<void> {
    const outcome = { kind: 'failed', code: 'destination_blocked', message: 'the token refuses it' } as const;
    assert.ok(await this.feed.database.payouts.settle({ id, generation, outcome, nowMs: this.feed.nowMs }));
    this.refused.add(id);
  }

  async #settle({ payout: { id, intent, generation }, attempts }: OpenPayout, ending: PayoutEnding): Promise<void> {
    const { database, nowMs } = this.feed;
    const tx = attempts.at(-1)?.tx;
    assert.ok(tx && intent.kind === 'refund');
    const ended = { tx, feeUnits: 3n };
    if (ending === 'failed') {
      const next = { ...renewal, proof: 'failed', ended, notBeforeMs: nowMs, nowMs } as const;
      assert.ok(await database.payouts.renew({ id, generation, ...next }));
    } else if (ending === 'succeeded') {
      assert.ok(await database.payouts.settle({ id, generation, outcome: { kind: 'succeeded', ended }, nowMs }));
      this.paid.set(id, intent.units);
    }
  }
}
