import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { gas, later, leaves, mineFinal, network, plan, refund, statesOf, watch } from './outgoing.ts';
import { inWorld, type MakePlace, T0_MS } from './place.ts';

/** In which order transfers out of our own wallets are judged. */
export function judgingConforms(makePlace: MakePlace): void {
  const test = suite('judging');

  test(
    'a hundred transfers that nothing explains keep no later one from being judged, or explained in its turn',
    inWorld(makePlace, async ({ database, one }) => {
      await watch(database);
      const strange = Array.from({ length: 100 }, (_, index) => leaves('t1', { index, to: later }));
      await mineFinal(one, ...strange);
      await database.judgeOutgoing(network, T0_MS);
      await mineFinal(one, leaves('t2', { to: gas }), leaves('t3', { units: 3n }));
      await database.judgeOutgoing(network, T0_MS);
      assert.equal(
        (await statesOf(database)).slice(0, 2),
        ['foreign', 'recorded'],
        't3 is foreign, t2 went to a wallet of ours',
      );
      await plan(database, refund('r1', 3n));
      const claimed = [];
      for (let times = 0; times < 2; times++) {
        const claims = await database.judgeOutgoing(network, T0_MS);
        claimed.push(...claims.map(({ payout, transfer }) => [payout.id, transfer.tx]));
      }
      assert.equal(claimed, [['r1', 't3']]);
    }),
  );

  test.run();
}
