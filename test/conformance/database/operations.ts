import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addressOf, endpoint, inWorld, type MakePlace, newSession, pays, sessionOf, T0_MS, T0_S } from '../../database/place.ts';

/** What operators and other processes read. */
export function operationsConform(makePlace: MakePlace): void {
  const test = suite('operations');

  test(
    'a network is listed as its follower reported it, beside where it stands',
    inWorld(makePlace, async ({ store, one }) => {
      await one.readThrough(T0_S + 7, 'halted');
      const status = (await store.listNetworks()).find(({ network }) => network === 'test:one');
      const tip = one.chain.at(-1);
      assert.equal(status, {
        network: 'test:one',
        state: 'halted',
        reason: { code: 'deep_reorg', message: 'block 5 left the chain' },
        cursor: { hash: tip?.hash, number: tip?.number, timeS: tip?.timeS },
        headNumber: tip?.number,
        nodeConnected: true,
        nodeHeardAtMs: T0_MS,
        floor: 0,
        readThroughS: T0_S + 7,
        updatedAtMs: T0_MS,
        pid: 7,
      });
      await one.readThrough(T0_S + 8);
      const after = (await store.listNetworks()).find(({ network }) => network === 'test:one');
      assert.equal([after?.state, after?.reason, after?.readThroughS], ['following', null, T0_S + 8]);
      await one.mine();
      const mined = (await store.listNetworks()).find(({ network }) => network === 'test:one');
      assert.equal([mined?.state, mined?.pid, mined?.readThroughS], ['following', 7, T0_S]);
    }),
  );

  test(
    'alarms: newest first, no more than asked for',
    inWorld(makePlace, async ({ store }) => {
      for (let n = 0; n < 3; n++) {
        await store.raiseAlarm({ atMs: T0_MS + n, code: `c${n}`, message: 'm', network: null, sessionId: null });
      }
      const found = await store.listAlarms(2);
      assert.equal(
        found.map(({ code }) => code),
        ['c2', 'c1'],
      );
      assert.equal(found[0], {
        id: found[0]?.id,
        atMs: T0_MS + 2,
        code: 'c2',
        message: 'm',
        network: null,
        sessionId: null,
      });
    }),
  );

  test(
    'the census counts sessions by status, and what waits',
    inWorld(makePlace, async ({ store, one }) => {
      const none = { pending: 0, paid: 0, failed: 0, expired: 0, canceled: 0 };
      assert.equal(await store.census(T0_MS), { sessions: none, deliveriesWaiting: 0, oldestWaitingMs: 0 });
      await store.addEndpoint(endpoint('e1'));
      const to = addressOf(sessionOf(await store.createSession(newSession('o1'))));
      for (const id of ['o2', 'o3']) sessionOf(await store.createSession(newSession(id)));
      await one.confirm(await one.mine([pays(to, 1000n)]));
      const replay = { idempotencyKey: null, path: '/', bodyHash: '' };
      await store.cancelSession({ id: 'o2', storeId: 'm1', mode: 'test', replay, nowMs: T0_MS + 500 });
      assert.equal(await store.census(T0_MS + 800), {
        sessions: { ...none, pending: 1, paid: 1, canceled: 1 },
        deliveriesWaiting: 2,
        oldestWaitingMs: 800,
      });
    }),
  );

  test(
    'the change count moves with every commit, own or not, and rests otherwise',
    inWorld(makePlace, async ({ store, place }) => {
      const other = place.connect();
      const before = store.changeCount();
      assert.is(store.changeCount(), before);
      await store.findSession('cs_x');
      await other.listNetworks();
      assert.is(store.changeCount(), before);
      await other.raiseAlarm({ atMs: 1, code: 'c', message: 'm', network: null, sessionId: null });
      const between = store.changeCount();
      assert.is.not(between, before);
      sessionOf(await store.createSession(newSession('o1')));
      assert.is.not(store.changeCount(), between);
      other.close();
    }),
  );

  test(
    'a probe passes on a store that can be written, and changes nothing',
    inWorld(makePlace, async ({ store, place }) => {
      const other = place.connect();
      const before = other.changeCount();
      await store.probe();
      assert.is(other.changeCount(), before);
      other.close();
    }),
  );

  test.run();
}
