/**
 * Messages are for people. A message that an upgrade rewords, while a payout waits with the old one, changes no
 * decision about the payout.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { allot, network, plan, refund } from '../../conformance/database/payout-scene.ts';
import { act, inWorld, T0_MS, type World } from '../../conformance/database/place.ts';
import { alterRow } from '../../support/raw.ts';
import { thawAll } from '../../support/thaw.ts';

const [wallet, payee] = ['a1'.repeat(20), 'b1'.repeat(20)];
const own = { payer: wallet, nonce: null };

async function isShownOnce({ database, one, place }: World): Promise<void> {
  await database.wallets.recordOwn(network, { refund: wallet });
  const { number: floor } = await one.mine([
    { tx: 't1', index: 0, currency: 'USDT', from: wallet, to: payee, units: 500n, isOutgoing: true },
  ]);
  assert.is(await one.step({ floor }), 'done');
  await database.wallets.judge(network, T0_MS);
  const [{ id: shown } = { id: 0 }] = await database.wallets.listForeign(network, 9);
  assert.is((await thawAll(database, network, act('payout thaw'))).length, 1);
  await plan(database, refund('r1', { to: payee, units: 500n }));
  assert.is((await allot(database, 'r1', own)).kind, 'moved');
  assert.is((await database.payouts.find('r1'))?.wait?.code, 'refund_equals_transfer');
  alterRow(place.file, "UPDATE payouts SET wait_message = 'in other words'");
  const answer = (other: number) => {
    const seen = { state: 'waiting', generation: 0, attemptCount: 0 } as const;
    const never = { kind: 'never', proof: null, ended: null, isRenewed: true, others: [other] } as const;
    return database.payouts.conclude({ id: 'r1', seen, conclusion: never, act: act('payout resolve') });
  };
  assert.is(await answer(shown + 1), false);
  assert.is(await answer(shown), true);
  assert.is((await allot(database, 'r1', own)).kind, 'allotted');
}
test('a person who was shown an equal transfer has been shown it', inWorld(isShownOnce));

test.run();
