import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { GENERATIONS_MAX, LEARNED_GENERATION } from '../../../src/core/payout.ts';
import type { Database } from '../../../src/database/database.ts';
import {
  allot,
  isSound,
  later,
  leaves,
  mineFinal,
  network,
  payee,
  plan,
  refund,
  statesOf,
  treasury,
  wallet,
  watch,
} from './outgoing.ts';
import { inWorld, type MakePlace, T0_MS } from './place.ts';

/** Failed transactions of our own wallets that are learned from the chain. */
export function failedSpendsConform(makePlace: MakePlace): void {
  const test = suite('failed spends');

  test(
    'a failed transaction that is learned from the chain is an attempt of the refund that it was for, and settles nothing',
    inWorld(makePlace, async ({ database, one }) => {
      await watch(database);
      await database.offerNonce(network, wallet, 5, T0_MS);
      await plan(database, refund('r1'), { ...refund('r2'), units: 9n }, { ...refund('r3'), to: later });
      const behind = async () => {
        const failed = { network, payer: wallet, to: payee, currency: 'USDT', units: 500n } as const;
        return (await database.refundsBehind(failed)).map(({ id }) => id);
      };
      assert.equal(await behind(), ['r1']);
      const failOf = (intent: Parameters<Database['recordFailed']>[0]['intent'], tx: string, nonce: number | null) =>
        database.recordFailed({ intent, tx, payer: wallet, paid: { feeUnits: 3n, nonce }, nowMs: T0_MS });
      assert.is((await database.offerNonce(network, wallet, 6, T0_MS)).kind, 'halted');
      assert.is(await failOf(refund('r1'), 't1', 5), true);
      assert.equal([await database.haltedLanes(), await database.listFreezes()], [[], []]);
      assert.equal([await failOf(refund('r1'), 't1', 6), await failOf(refund('r1'), 't2', 5)], [false, false]);
      const payout = await database.findPayout('r1');
      assert.equal([payout?.state, payout?.generation, payout?.tx, payout?.feeUnits], ['waiting', 0, null, null]);
      assert.equal((await allot(database, refund('r1'), 6)).kind, 'allotted', 'it is attempted as if nothing had been');
      await isSound(database);
      // Of one that was settled since, by what the chain showed.
      await plan(database, refund('r4', 700n));
      await mineFinal(one, leaves('t4', { units: 700n }));
      const { claims } = await database.judgeOutgoing(network, T0_MS);
      for (const { transfer, payout: paid } of claims)
        await database.settleByTransfer({
          ...{ transferId: transfer.id, payoutId: paid.id, paid: { feeUnits: 3n, nonce: 8 }, nowMs: T0_MS },
        });
      const settled = { network, payer: wallet, to: payee, currency: 'USDT', units: 700n } as const;
      assert.equal(
        (await database.refundsBehind(settled)).map(({ id, state }) => [id, state]),
        [['r4', 'succeeded']],
      );
      assert.equal(await database.refundsBehind({ ...settled, payer: later }), []);
      assert.is(await failOf(refund('r4', 700n), 't5', 7), true);
      assert.is((await database.findPayout('r4'))?.tx, 't4');
      await isSound(database);
    }),
  );

  test(
    'as many failed transactions count of the same as the engine would have tried, and the treasury is not watched for them',
    inWorld(makePlace, async ({ database, one }) => {
      await watch(database);
      const fee = (tx: string, from: string) => leaves(tx, { from, to: from, currency: 'native', units: 3n });
      await mineFinal(one, fee('f1', wallet), fee('f2', treasury));
      const { moves } = await database.judgeOutgoing(network, T0_MS);
      assert.equal([moves.map(({ tx }) => tx), (await statesOf(database)).length], [['f1'], 1]);
      const save = (intent: Parameters<Database['recordFailed']>[0]['intent'], tx: string, transferId?: number) =>
        database.recordFailed({
          intent,
          transferId,
          tx,
          payer: wallet,
          paid: { feeUnits: 3n, nonce: null },
          nowMs: T0_MS,
        });
      const give = (id: string, index = 1) =>
        ({ kind: 'gas', id, network, form: 'transfer', index, units: BigInt(id.length) }) as const;
      assert.is(await save(give('ga_0'), 'f1', moves[0]?.id), true);
      assert.equal(await statesOf(database), []);
      const saved = [];
      for (let n = 1; n <= GENERATIONS_MAX; n++) saved.push(await save(give(`ga_${'0'.repeat(n)}${n}`), `m${n}`));
      assert.equal(saved, [true, true, true, true, false]);
      assert.is(await save(give('ga_to_another', 2), 'm9'), true);
      const [newest] = await database.listPayouts({ network, kind: 'gas', state: 'failed', limit: 10 });
      const attempts = await database.listPayoutAttempts(newest?.id ?? '');
      assert.equal(
        attempts.map(({ generation, feeUnits }) => [generation, feeUnits]),
        [[LEARNED_GENERATION, 3n]],
      );
      await plan(database, refund('r1'));
      for (let n = 0; n <= GENERATIONS_MAX; n++)
        assert.is(await save(refund('r1'), `r${n}`), n < GENERATIONS_MAX, `refund ${n}`);
      await isSound(database);
    }),
  );

  test.run();
}
