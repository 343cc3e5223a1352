import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Freeze } from '../../../src/database/freezes.ts';
import { inWorld, type MakePlace, T0_MS } from './place.ts';

const network = 'test:one';
const act = { atMs: T0_MS, operator: 'anna', command: 'payouts freeze', reason: 'found' };
const freeze = (of: Freeze['network'], reason = 'a key was lost'): Freeze => ({
  network: of,
  code: 'payouts_frozen',
  reason,
  frozenBy: 'anna',
  sinceMs: T0_MS,
});
const intent = { kind: 'refund', id: 'r1', network, currency: 'USDT', to: 'b', units: 5n, mac: 'c' } as const;
const attempt = { id: 'r1', generation: 0, attempt: 0, payer: 'a', payerRole: 'refund', nonce: null } as const;

/** Freezes of money out. */
export function freezesConform(makePlace: MakePlace): void {
  const test = suite('freezes');

  test(
    'a freeze of a network or of all holds until it is thawed by its own name, and keeps its first reason',
    inWorld(makePlace, async ({ database }) => {
      assert.is(await database.findFreeze(network), null);
      assert.is(await database.freezePayouts(freeze(network), act), true);
      assert.is(await database.freezePayouts(freeze(network, 'another reason'), act), false);
      assert.equal(await database.findFreeze(network), freeze(network));
      assert.is(await database.findFreeze('test:two'), null);
      assert.is(await database.freezePayouts(freeze(null), null), true);
      assert.equal(await database.findFreeze('test:two'), freeze(null));
      assert.equal(await database.listFreezes(), [freeze(null), freeze(network)]);
      assert.equal(await database.thawPayouts(null, act), freeze(null));
      assert.is(await database.thawPayouts(null, act), null);
      assert.equal(await database.findFreeze(network), freeze(network));
      assert.equal(await database.thawPayouts(network, act), freeze(network));
      assert.equal(await database.listFreezes(), []);
      const audit = await database.listAudit(10);
      assert.equal(
        audit.map(({ target, before, after }) => [target, before?.reason ?? null, after?.reason ?? null]),
        [
          [network, 'a key was lost', null],
          ['every network', 'a key was lost', null],
          [network, null, 'a key was lost'],
        ],
        'what froze it by itself is no act of an operator',
      );
    }),
  );

  test(
    'no attempt is allotted where money out is frozen, whatever another process saw before',
    inWorld(makePlace, async ({ database, place }) => {
      const other = place.connect();
      await database.planPayouts([{ intent, sessionId: null, servesId: null, notBeforeMs: T0_MS, nowMs: T0_MS }]);
      const allot = () => database.allotAttempt({ ...attempt, intent, terms: {}, feeUnitsMax: 1n, nowMs: T0_MS });
      for (const scope of [network, null] as const) {
        await other.freezePayouts(freeze(scope), act);
        assert.equal(await allot(), { kind: 'moved' });
        await other.thawPayouts(scope, act);
      }
      await other.freezePayouts(freeze('test:two'), act);
      assert.is((await allot()).kind, 'allotted');
      other.close();
    }),
  );

  test.run();
}
