/**
 * What the engine does with a payout whose bytes the chain's SDK reads otherwise.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { thawAll } from '../../support/thaw.ts';
import { network, onBench, untilSettled } from './engine-bench.ts';

let isAltered = true;
let broadcasts = 0;
test(
  'bytes that the chain’s SDK reads otherwise are not broadcast: an alarm, a freeze, and a way out',
  onBench(
    async (bench) => {
      const { plan, pass, database, alarms } = bench;
      await plan('r1');
      for (let n = 0; n < 3; n++) await pass();
      const payout = await database.payouts.find('r1');
      assert.equal({ state: payout?.state, code: payout?.wait?.code }, { state: 'stuck', code: 'payout_bytes_differ' });
      assert.match(payout?.wait?.message ?? '', 'transfers: 7 units instead of 5 units');
      assert.is(broadcasts, 0);
      assert.ok((await alarms()).includes('payout_bytes_differ'));

      await plan('r2');
      assert.is((await pass())?.code, 'payouts_frozen');
      assert.equal(
        { attempts: (await database.payouts.attempts('r2')).length, broadcasts },
        { attempts: 0, broadcasts: 0 },
      );

      isAltered = false;
      const nowMs = bench.clock.nowMs();
      const act = { atMs: nowMs, operator: 'anna', command: 'payout resolve', reason: 'it is mended' };
      await thawAll(database, network, { ...act, command: 'payout reconcile' });
      const seen = { state: 'stuck', generation: 0, attemptCount: 1 } as const;
      assert.ok(await database.payouts.conclude({ id: 'r1', seen, conclusion: { kind: 'look' }, act, nowMs }));
      await untilSettled(bench, 'r1');
      assert.is((await database.payouts.find('r1'))?.state, 'succeeded');
      assert.ok(broadcasts > 0);
    },
    {
      secondOpinion: async () => (isAltered ? ['transfers: 7 units instead of 5 units'] : []),
      node: (node) => ({
        ...node,
        broadcast: (bytes) => {
          broadcasts += 1;
          return node.broadcast(bytes);
        },
      }),
    },
  ),
);

test.run();
