/**
 * Messages are for people. A message that an upgrade rewords, while a payout waits with the old one, changes no
 * decision about the payout.
 */
import Sqlite from 'better-sqlite3';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RefundIntent } from '../../../src/core/intent.ts';
import type { ChainTransfer } from '../../../src/core/transfer.ts';
import type { Database } from '../../../src/database/database.ts';
import type { PayoutConclusion } from '../../../src/database/payouts/outcomes.ts';
import { act, inWorld, T0_MS, type World } from '../../conformance/database/place.ts';
import { refundIntent } from '../../support/intents.ts';
import { counted } from '../../support/nonces.ts';

const network = 'test:one';
const [wallet, payee] = ['a1'.repeat(20), 'b1'.repeat(20)];
const refund = refundIntent({ network, to: payee, units: 500n });
const name = { id: 'rf_1', generation: 0, attempt: 0 } as const;
const terms = { nonce: '0' };
const own = { payer: wallet, payerRole: 'refund', nonce: 0, terms, feeUnitsMax: 9n } as const;
const test = suite('reworded messages');

/** Adds a test with a database, a refund wallet, and a way to reword what the refund waits for. */
function scene(title: string, work: (world: World, reword: () => void) => Promise<void>): void {
  let file = '';
  function reword(): void {
    const raw = new Sqlite(file);
    assert.is(raw.prepare("UPDATE payouts SET wait_message = 'in other words' WHERE id = 'rf_1'").run().changes, 1);
    raw.close();
  }
  test(
    title,
    inWorld(async (world) => {
      file = world.place.file;
      await world.database.wallets.recordOwn(network, { refund: wallet });
      await world.database.engines.nextFence(network, 0);
      assert.equal(await world.database.payouts.offerNonce(network, wallet, counted(0), T0_MS), {
        kind: 'free',
        nonce: 0,
      });
      await work(world, reword);
    }),
  );
}

async function plan(database: Database, intent: RefundIntent): Promise<void> {
  await database.payouts.plan([{ intent, sessionId: null, servesId: null, notBeforeMs: T0_MS, nowMs: T0_MS }]);
}

const allot = (database: Database) => database.payouts.allot({ ...name, ...own, intent: refund, nowMs: T0_MS });

async function conclude(database: Database, conclusion: PayoutConclusion, attemptCount: number): Promise<boolean> {
  const { state = 'waiting', generation = 0 } = (await database.payouts.find('rf_1')) ?? {};
  const seen = { state, generation, attemptCount };
  return database.payouts.conclude({ id: 'rf_1', seen, conclusion, act: act('payout resolve'), nowMs: T0_MS });
}

scene('a person who was shown an equal transfer has been shown it', async ({ database, one }, reword) => {
  const transfer: ChainTransfer = {
    ...{ tx: 't1', index: 0, currency: 'USDT', from: wallet, to: payee, units: 500n, isOutgoing: true },
  };
  const block = one.child();
  assert.is(await one.step({ connect: [{ block, transfers: [transfer] }] }), 'done');
  one.chain.push(block);
  assert.is(await one.step({ floor: block.number }), 'done');
  await database.wallets.judge(network, T0_MS);
  const foreign = await database.wallets.listForeign(network, 9);
  const seen = { freezes: await database.holds.list(), transfers: foreign.map(({ id }) => id) };
  assert.is((await database.holds.thaw(seen, act('payout thaw'))).length, 1);
  await plan(database, refund);
  assert.is((await allot(database)).kind, 'moved');
  assert.is((await database.payouts.find('rf_1'))?.wait?.code, 'refund_equals_transfer');
  reword();
  const [shown = 0] = foreign.map(({ id }) => id);
  const never = { kind: 'never', proof: null, ended: null, isRenewed: true } as const;
  assert.is(await conclude(database, { ...never, others: [shown + 1] }, 0), false);
  assert.is(await conclude(database, { ...never, others: [shown] }, 0), true);
  assert.is((await allot(database)).kind, 'allotted');
});

test.run();
