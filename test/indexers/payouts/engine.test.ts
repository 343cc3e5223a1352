/**
 * The payout engine without crashes: what it waits for, what it reports, and how it stops. Its crashes are in
 * `test/sim/payouts.slow.test.ts`.
 */
import * as assert from 'uvu/assert';
import { paceOf } from '../../../indexers/payouts/engine.ts';
import { watchPayouts } from '../../../src/app/watches/payouts.ts';
import { chains } from '../../../src/chains/index.ts';
import type { PayoutNode, SpendDraft } from '../../../src/chains/spend.ts';
import { permanent, transient } from '../../../src/core/fault.ts';
import { openLog } from '../../../src/lib/log.ts';
import type { PayingSigner } from '../../../src/signer/client.ts';
import { fails } from '../../conformance/database/place.ts';
import { familyOf, keyOf, macOf } from '../../sim/payout-signer.ts';
import { has, have } from '../../support/fields.ts';
import { ingestStep } from '../../support/ingested-chain.ts';
import { refundIntent } from '../../support/intents.ts';
import { lockstepClock } from '../../support/lockstep-clock.ts';
import { networkReport } from '../../support/network-report.ts';
import { thawAll } from '../../support/thaw.ts';
import { until } from '../../support/until.ts';
import { CALM_MS, watched } from '../../support/watched.ts';
import { type Bench, benchTests, network, openPayer, rules, startOf, untilSettled } from './engine-bench.ts';

const watchedConfig = { signer: {}, networks: [{ key: network }] } as const;

const test = benchTests();

benchTests({ settles: true })(
  'nothing is requested from node or signer while the network is not followed',
  async ({ payer, plan, report, database, own, instead }) => {
    const asked = () => assert.unreachable('it is asked');
    const refuseAll = (of: object) => Object.fromEntries(Object.keys(of).map((name) => [name, asked]));
    instead.node = refuseAll(own.node);
    instead.signer = refuseAll(own.signer);
    await plan('r1');
    for (const state of ['starting', 'behind', 'fault', 'halted'] as const) {
      await report(state);
      await fails(payer.look(), 'network_not_followed');
    }
    have(await database.engines.list(), [{ fence: 0, settlingUntilMs: 0 }]);
  },
);

test('a payout that the signer refuses waits without its number, and others continue', async (bench) => {
  const { plan, pass, database, alarms, own, instead } = bench;
  instead.signer.sign = async (request) => {
    if (request.intent.id === 'r1') throw permanent('signer_refused_cap', 'too much today');
    return own.signer.sign(request);
  };
  await plan('r1', 'r2');
  assert.is(await pass(), null);
  assert.equal((await database.payouts.find('r1'))?.wait, { code: 'signer_refused_cap', message: 'too much today' });
  assert.equal(await database.payouts.attempts('r1'), []);
  assert.is((await database.payouts.attempts('r2'))[0]?.nonce, 0);
  assert.equal(await alarms(), ['signer_refused_cap']);
  instead.signer = {};
  await untilSettled(bench, 'r1');
  assert.is((await database.payouts.attempts('r1'))[0]?.nonce, 1);
});

test('an altered payout waits for a person', async ({ plan, pass, database, alarms }) => {
  await plan('r1');
  const intent = refundIntent({ id: 'r2', network });
  const mac = macOf({ ...intent, units: 4n });
  await database.payouts.plan([
    { intent: { ...intent, mac }, sessionId: null, servesId: null, notBeforeMs: 0, nowMs: 0 },
  ]);
  await pass();
  const altered = await database.payouts.find('r2');
  assert.equal({ state: altered?.state, code: altered?.wait?.code }, { state: 'stuck', code: 'signer_refused_mac' });
  assert.ok((await alarms()).includes('signer_refused_mac'));
  assert.is((await database.payouts.find('r1'))?.state, 'sent');
});

test('a receiver that can never be paid ends a payout; a wallet that is short makes it wait and raises wallet_low', async (bench) => {
  const { plan, pass, database, alarms, clock, instead } = bench;
  const lasting = watched(watchPayouts(database, watchedConfig), database, clock);
  const refuse = (refused: 'destination_frozen' | 'token_short') => {
    instead.node.quote = async () => ({ refused, message: 'by the chain', missing: null });
  };
  refuse('destination_frozen');
  await plan('r1');
  await pass();
  assert.equal((await database.payouts.find('r1'))?.state, 'failed');
  refuse('token_short');
  await plan('r2');
  const low = async () => (await database.wallets.balances()).find(({ role }) => role === 'refund')?.low;
  for (let n = 0; n < 8; n++) await pass();
  assert.equal((await database.payouts.find('r2'))?.wait?.code, 'token_short');
  for (let n = 0; n < 90; n++) {
    await pass();
    assert.equal(await low(), ['USDT'], 'low for as long as r2 waits, however seldom it is looked at');
    assert.equal(await lasting.look(), ['wallet_low']);
  }
  assert.equal(await alarms(), ['wallet_low', 'token_short', 'destination_frozen']);
  instead.node = {};
  await untilSettled(bench, 'r2');
  for (let n = 0; n < 42; n++) await pass();
  assert.equal(await low(), []);
  await lasting.look();
  assert.equal(await lasting.after(CALM_MS), []);
});

test('while the node no longer has the final state, payouts are made on the count at its head', async (bench) => {
  const { plan, pass, chain, database, own, instead } = bench;
  instead.node.count = async (key) => {
    const counts = await own.node.count(key);
    return counts && { ...counts, final: null };
  };
  await plan('r1', 'r2');
  await untilSettled(bench, 'r1');
  await untilSettled(bench, 'r2');
  have(chain.blocks().flat(), [
    { intentId: 'r1', nonce: 0 },
    { intentId: 'r2', nonce: 1 },
  ]);
  chain.usurp(keyOf({ role: 'refund' }));
  await plan('r3');
  await pass();
  assert.is((await database.payouts.find('r3'))?.state, 'waiting');
  assert.is((await database.holds.find(network))?.code, 'payout_nonce_foreign');
});

test('faults that delay payouts for ten minutes raise an alarm, which ends when they go on', async (bench) => {
  const { plan, pass, alarms, database, clock, instead } = bench;
  const lasting = watched(watchPayouts(database, watchedConfig), database, clock);
  instead.node.quote = () => {
    throw transient('node_history_pruned', 'the state is gone');
  };
  await plan('r1');
  assert.is((await pass())?.code, 'node_history_pruned');
  await lasting.look();
  for (let n = 0; n < 59; n++) {
    await pass();
    await lasting.look();
  }
  assert.equal(await alarms(), []);
  await pass();
  assert.equal(await lasting.look(), ['payouts_delayed']);
  const { message } = (await lasting.open())[0] ?? {};
  assert.match(message ?? '', /faults delay payouts on test:one \(1\), such as: the state is gone/);
  instead.node = {};
  await untilSettled(bench, 'r1');
  await lasting.look();
  assert.equal(await lasting.after(CALM_MS), []);
});

test('what keeps one payout from advancing is saved with it, and the others go on', async (bench) => {
  const { plan, pass, database, alarms, own, instead } = bench;
  const faultOf = async (id: string) => (await database.payouts.find(id))?.fault?.code;
  const breakFor = (broken: string) => {
    const refuse = ({ intent: { id } }: SpendDraft): void => {
      if (id === broken) throw transient('node_inconsistent', `no sense in ${id}`);
    };
    instead.node.quote = async (...of) => {
      refuse(of[0]);
      return own.node.quote(...of);
    };
    instead.node.outcome = async (...of) => {
      refuse(of[0]);
      return own.node.outcome(...of);
    };
  };
  breakFor('r1');
  await plan('r1', 'r2');
  const dueAtMs = (await database.payouts.find('r1'))?.notBeforeMs;
  assert.is((await pass())?.code, 'node_inconsistent');
  const refused = await database.payouts.find('r1');
  has(refused, {
    state: 'waiting',
    wait: null,
    fault: { code: 'node_inconsistent', message: 'no sense in r1' },
    notBeforeMs: dueAtMs,
  });
  await untilSettled(bench, 'r2');
  assert.is(await faultOf('r1'), 'node_inconsistent');
  assert.is(await faultOf('r2'), undefined);
  assert.equal(await alarms(), []);
  instead.node = {};
  for (let n = 0; n < 4; n++) await pass();
  assert.is(await faultOf('r1'), undefined);
  // Nor once it is sent.
  await plan('r3');
  await pass();
  breakFor('r3');
  for (let n = 0; n < 3; n++) await pass();
  has(await database.payouts.find('r3'), { state: 'sent' });
  assert.is(await faultOf('r3'), 'node_inconsistent');
  instead.node = {};
  await untilSettled(bench, 'r3');
  assert.is(await faultOf('r3'), undefined);
});

test('a signer whose journal has lost a recorded signature gets no more requests', async (bench) => {
  const { plan, pass, alarms, database, instead } = bench;
  await plan('r1');
  await untilSettled(bench, 'r1');
  instead.signer.journal = async () => [];
  await plan('r2');
  assert.is((await pass())?.code, 'signer_journal_behind');
  // As after a restart: the same, before anything is signed.
  assert.is((await pass())?.code, 'signer_journal_behind');
  assert.equal(
    (await database.payouts.attempts('r2')).filter(({ sentAtMs }) => sentAtMs !== null),
    [],
  );
  assert.equal(await alarms(), []);
  instead.signer = {};
  await untilSettled(bench, 'r2');
});

/** Counts from now on what is broadcast. */
function countBroadcasts({ own, instead }: Bench): () => number {
  let broadcasts = 0;
  instead.node.broadcast = (bytes) => {
    broadcasts++;
    return own.node.broadcast(bytes);
  };
  return () => broadcasts;
}

test('a freeze at any moment: nothing is signed, a signed attempt is not sent, and a sent one is watched to its end', async (bench) => {
  const { plan, pass, database, clock, own, instead } = bench;
  const why = { code: 'payouts_frozen', reason: 'a laptop is gone', frozenBy: 'anna' };
  const freezeNow = () => database.holds.freeze({ ...why, network: null, sinceMs: clock.nowMs() }, null);
  const act = { atMs: 0, operator: 'anna', command: 'payout thaw', reason: 'found' };
  const thaw = () => thawAll(database, null, act);
  const broadcasts = countBroadcasts(bench);
  const attempts = () => database.payouts.attempts('waiting');

  await plan('sent');
  await pass();
  assert.is(broadcasts(), 1);
  await freezeNow();
  await plan('waiting');
  const fault = await pass();
  assert.is(fault?.code, 'payouts_frozen');
  assert.match(fault?.message ?? '', /every network by anna: a laptop is gone/);
  await untilSettled(bench, 'sent');
  for (let n = 0; n < 20; n++) await pass();
  assert.equal({ broadcasts: broadcasts(), attempts: await attempts() }, { broadcasts: 1, attempts: [] });

  await thaw();
  instead.node.quote = async (...of) => {
    const quote = await own.node.quote(...of);
    await freezeNow();
    return quote;
  };
  for (let n = 0; n < 20; n++) await pass();
  assert.equal({ broadcasts: broadcasts(), attempts: await attempts() }, { broadcasts: 1, attempts: [] });

  await thaw();
  delete instead.node.quote;
  instead.signer.sign = async (request) => {
    const signed = await own.signer.sign(request);
    await freezeNow();
    return signed;
  };
  for (let n = 0; n < 20; n++) await pass();
  const [attempt] = await attempts();
  assert.is(broadcasts(), 1);
  assert.is.not(attempt?.tx, null);
  assert.is(attempt?.sentAtMs, null);

  await thaw();
  instead.signer = {};
  await untilSettled(bench, 'waiting');
  assert.is((await attempts()).length, 1, 'it was sent as it had been signed');
});

test('bytes that the chain’s SDK reads otherwise are not broadcast: an alarm, a freeze, and a way out', async (bench) => {
  const { plan, pass, database, alarms, instead } = bench;
  const sentOut = countBroadcasts(bench);
  instead.opinion = ['transfers: 7 units instead of 5 units'];
  await plan('r1');
  for (let n = 0; n < 3; n++) await pass();
  const payout = await database.payouts.find('r1');
  assert.equal({ state: payout?.state, code: payout?.wait?.code }, { state: 'stuck', code: 'payout_bytes_differ' });
  assert.match(payout?.wait?.message ?? '', 'transfers: 7 units instead of 5 units');
  assert.is(sentOut(), 0);
  assert.ok((await alarms()).includes('payout_bytes_differ'));

  await plan('r2');
  assert.is((await pass())?.code, 'payouts_frozen');
  const done = { attempts: (await database.payouts.attempts('r2')).length, sentOut: sentOut() };
  assert.equal(done, { attempts: 0, sentOut: 0 });

  instead.opinion = [];
  const nowMs = bench.clock.nowMs();
  const act = { atMs: nowMs, operator: 'anna', command: 'payout resolve', reason: 'the node works again' };
  await thawAll(database, network, { ...act, command: 'payout reconcile' });
  const seen = { state: 'stuck', generation: 0, attemptCount: 1 } as const;
  assert.ok(await database.payouts.conclude({ id: 'r1', seen, conclusion: { kind: 'look' }, act }));
  await untilSettled(bench, 'r1');
  assert.is((await database.payouts.find('r1'))?.state, 'succeeded');
  assert.ok(sentOut() > 0);
});

/** Adds an empty block as a follower that knows the wallets. */
async function follow({ database, clock }: Bench, number: number, floor: number) {
  await database.wallets.recordOwn(network, { refund: keyOf({ role: 'refund' }) });
  const [tip] = await database.blocks.tail(network, 1);
  const block = { hash: `b${number}`, parent: tip?.hash ?? '', number, timeS: 0 };
  const at = { network, nowMs: clock.nowMs(), expectTip: tip?.hash ?? null };
  await database.blocks.ingest(ingestStep({ ...at, connect: [{ block, transfers: [] }], floor }));
}
benchTests({ chainNode: startOf(7) })(
  'after a start nothing is signed until what was on the chain then has been read and is final',
  async (bench) => {
    await bench.plan('r1');
    assert.is((await bench.pass())?.code, 'payouts_settling');
    await follow(bench, 7, 6);
    assert.is((await bench.pass())?.code, 'payouts_settling');
    assert.equal(await bench.database.payouts.attempts('r1'), []);
    assert.equal(await bench.alarms(), []);
    await follow(bench, 8, 7);
    assert.is(await bench.pass(), null);
    await untilSettled(bench, 'r1');
  },
);

test('an engine stops when asked to, whatever it waits for', async ({ database }) => {
  const clock = lockstepClock().view();
  const payer = openPayer({ node: {} as PayoutNode, signer: {} as PayingSigner, database, clock });
  const stopping = new AbortController();
  const running = payer.run(stopping.signal);
  await until('it waits for its network', async () => clock.asleep() === 1);
  const [engine] = await database.engines.list();
  assert.equal({ code: engine?.reason?.code, fence: engine?.fence }, { code: 'network_not_followed', fence: 0 });
  stopping.abort();
  await running;
});

test('a signer that is still starting is no warning, and one that stays away is one', async ({ database }) => {
  const time = lockstepClock();
  const clock = time.view();
  const levels: number[] = [];
  const away = async () => {
    throw transient('signer_unreachable', 'nothing listens there');
  };
  const payer = openPayer({
    node: {} as PayoutNode,
    signer: { fence: away } as unknown as PayingSigner,
    database,
    clock,
    log: openLog('test', 'info', (line) => void levels.push(JSON.parse(line).level)),
  });
  const stopping = new AbortController();
  const running = payer.run(stopping.signal);
  for (const waitMs of [0, 5000, 5000, ...Array.from({ length: 6 }, () => 10_000)]) {
    await until('it waits', () => clock.asleep() === 1);
    await database.networks.report(networkReport(network, clock.nowMs()));
    time.advance(waitMs);
  }
  await until('it has waited on', () => clock.asleep() === 1);
  const [info, warn] = [30, 40];
  assert.equal(levels, [info, info, warn], 'not followed yet, signer not there yet, signer away');
  stopping.abort();
  await running;
});

test('the same bytes are broadcast again every block or two, or every few seconds where they expire', async () => {
  const expiring = chains[familyOf.expiry].spendRules;
  const pace = (of: typeof rules, blockTimeMs: number) => paceOf(of, blockTimeMs).resendMs;
  assert.equal([pace(rules, 12_000), pace(rules, 450), pace(rules, 60_000)], [15_000, 1000, 15_000]);
  assert.equal([pace(expiring, 3000), pace(expiring, 400)], [3000, 3000]);
  assert.equal([paceOf(rules, 12_000).outbidMs, paceOf(rules, 450).outbidMs], [120_000, 30_000]);
});

test.run();
