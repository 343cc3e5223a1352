import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { KEPT_MAX, OPEN_MAX, PLAN_MS_MAX, WAIT_MS_MAX, type Wish } from '../../../src/core/operation.ts';
import type { Database } from '../../../src/database/database.ts';
import { inWorld, type MakePlace, T0_MS, type World } from './place.ts';

const network = 'test:one' as const;
const by = (atMs: number) => ({ atMs, operator: 'Mary (dashboard)', command: 'ask', reason: 'why' });
const plan: Wish = { kind: 'sweep_plan' };
const offer = { treasury: 'aa', costUnits: '5', ids: ['sw_1'] };
const found = { lines: ['one sweep'], plan: offer };
const idOf = (n: number): string => `op_${String(n).padStart(26, '0')}`;

const ask = (database: Database, n: number, wish: Wish = plan, atMs = T0_MS) =>
  database.askOperation({ id: idOf(n), network, wish }, by(atMs));
const worker = (n: number, runner = 'a', nowMs = T0_MS) => ({ id: idOf(n), runner, nowMs });
const stateOf = async (database: Database, n: number, nowMs = T0_MS) =>
  (await database.findOperation(idOf(n), nowMs))?.state;

/** One after the other, each once, with its progress, its result and its records. */
async function runInOrder({ database }: World): Promise<void> {
  assert.is(await ask(database, 1), 'requested');
  assert.is(await ask(database, 1), 'already');
  await ask(database, 2);
  assert.is(await database.claimOperation('test:two', 'b', T0_MS), null, 'of another network');
  assert.is((await database.claimOperation(network, 'a', T0_MS + 1))?.id, idOf(1));
  assert.is(await database.reportOperation(worker(1), 'halfway'), true);
  assert.is(await database.reportOperation(worker(1, 'b'), 'not mine'), false);
  assert.is((await database.findOperation(idOf(1), T0_MS))?.progress, 'halfway');
  assert.is(await database.endOperation(worker(1, 'b'), 'done', found), false, 'another process');
  assert.is(await database.endOperation(worker(1), 'done', found), true);
  assert.is(await database.endOperation(worker(1), 'failed', { lines: [] }), false, 'it has ended');
  const { state, result, askedBy, because } = (await database.findOperation(idOf(1), T0_MS)) ?? {};
  assert.equal([state, result, askedBy, because], ['done', found, 'Mary (dashboard)', 'why']);
  const [ended, , asked] = await database.listAudit(3);
  assert.equal([ended?.operator, ended?.after], ['Mary (dashboard)', { operation: idOf(1), state: 'done' }]);
  assert.equal([asked?.target, asked?.after], [network, { operation: idOf(1), kind: 'sweep_plan' }]);
  assert.is((await database.claimOperation(network, 'a', T0_MS + 2))?.id, idOf(2));
  const [newest] = await database.listOperations({ limit: 1 }, T0_MS);
  const [older] = await database.listOperations({ network, before: newest?.id ?? '', limit: 9 }, T0_MS);
  assert.equal([newest?.id, older?.id], [idOf(2), idOf(1)]);
}

/** A killed process: what changes nothing twice begins again, three times at most; the rest fails by name. */
async function surviveKills({ database }: World): Promise<void> {
  const settle: Wish = { kind: 'settle', payoutId: 'p', paidBy: null, isRenewed: true, isCheck: false };
  await ask(database, 1, settle);
  await ask(database, 2, { ...settle, isCheck: true });
  assert.is((await database.claimOperation(network, 'a', T0_MS))?.id, idOf(1));
  // The next process finds what the first one has begun, and goes on with the check.
  assert.is((await database.claimOperation(network, 'b', T0_MS))?.id, idOf(2));
  const failed = await database.findOperation(idOf(1), T0_MS);
  assert.is(failed?.state, 'failed');
  assert.match(failed?.result?.lines[0] ?? '', 'The indexer ended while this ran');
  assert.is(await database.endOperation(worker(1), 'done', found), false, 'the first one comes too late');
  assert.is((await database.claimOperation(network, 'c', T0_MS))?.id, idOf(2));
  assert.is((await database.claimOperation(network, 'd', T0_MS))?.id, idOf(2));
  assert.is(await database.claimOperation(network, 'e', T0_MS), null, 'three times are enough');
  assert.is(await stateOf(database, 2), 'failed');
}

/** What nobody comes for expires, and never runs. */
async function expire({ database }: World): Promise<void> {
  await ask(database, 1);
  assert.is(await stateOf(database, 1, T0_MS + WAIT_MS_MAX - 1), 'requested');
  assert.is(await stateOf(database, 1, T0_MS + WAIT_MS_MAX), 'expired');
  assert.is(await database.claimOperation(network, 'a', T0_MS + WAIT_MS_MAX), null);
  assert.is(await stateOf(database, 1), 'expired', 'that is saved');
}

/** Only so many are open, and only so many are kept. */
async function stayFew({ database }: World): Promise<void> {
  for (let n = 1; n <= OPEN_MAX; n++) assert.is(await ask(database, n), 'requested');
  assert.is(await ask(database, OPEN_MAX + 1), 'too_many');
  assert.is(await ask(database, OPEN_MAX + 1, plan, T0_MS + WAIT_MS_MAX), 'requested', 'those have expired');
  for (let n = 100; n < 100 + KEPT_MAX + 20; n++) {
    await database.claimOperation(network, 'a', T0_MS + 2 * WAIT_MS_MAX);
    await ask(database, n, plan, T0_MS + 2 * WAIT_MS_MAX);
    await database.claimOperation(network, 'a', T0_MS + 2 * WAIT_MS_MAX);
    await database.endOperation(worker(n), 'done', found);
  }
  assert.is((await database.listOperations({ network, limit: 1000 }, T0_MS)).length, KEPT_MAX + 1);
  assert.is(await database.findOperation(idOf(1), T0_MS), null);
}

/** A run is asked for once for a plan, which is done, of this network, and not old. */
async function bindRuns({ database }: World): Promise<void> {
  const run: Wish = { kind: 'sweep_run', planId: idOf(1) };
  assert.is(await ask(database, 2, run), 'no_plan');
  await ask(database, 1);
  assert.is(await ask(database, 2, run), 'no_plan', 'it has not ended');
  await database.claimOperation(network, 'a', T0_MS);
  await database.endOperation(worker(1), 'done', found);
  const elsewhere = { id: idOf(3), network: 'test:two', wish: run } as const;
  assert.is(await database.askOperation(elsewhere, by(T0_MS)), 'no_plan');
  assert.is(await ask(database, 2, run, T0_MS + PLAN_MS_MAX), 'plan_old');
  assert.is(await ask(database, 2, run, T0_MS + PLAN_MS_MAX - 1), 'requested');
  assert.is(await ask(database, 4, run), 'plan_used');
}

/** What operators ask the networks' indexers to do. */
export function askedOperationsConform(makePlace: MakePlace): void {
  const test = suite('asked operations');
  test('operations are done once each, in order, and recorded', inWorld(makePlace, runInOrder));
  test('an operation of a killed process begins again or fails by name', inWorld(makePlace, surviveKills));
  test('an operation that nobody comes for expires', inWorld(makePlace, expire));
  test('few operations are open, and few are kept', inWorld(makePlace, stayFew));
  test('a run of sweeps is bound to one plan', inWorld(makePlace, bindRuns));
  test.run();
}
