/**
 * `quayside show` on an installation whose chain a test writes: each situation is reached as in reality, and the
 * command must say what is wrong and what to do, and end with the exit code that follows.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Finding } from '../../scripts/nodes/finding.ts';
import { chains } from '../../src/chains/index.ts';
import type { Verdict } from '../../src/core/delivery.ts';
import { invariant } from '../../src/core/fault.ts';
import { minorToPar } from '../../src/core/money.ts';
import type { Attempt } from '../../src/database/events.ts';
import { createDestinationCheck } from '../../src/payments/destination.ts';
import { txOf } from '../support/ingested-chain.ts';
import { answerDue } from '../support/record-attempt.ts';
import { retireMinutes } from '../support/retire-minutes.ts';
import { shiftedClock } from '../support/shifted-clock.ts';
import { openToolBench } from '../support/tool-bench.ts';

const clock = shiftedClock();
const bench = await openToolBench({ clock, dustFloorPar: minorToPar(1n) });
const { run, store, config, database, network, chain, keys } = bench;
test.after(bench.close);

type Told = Readonly<{ code: number; text: string; wrong: readonly Finding[] }>;

/** Shows once for people and once for programs, which must agree. */
async function show(...words: string[]): Promise<Told> {
  const [people, programs] = [await run('show', ...words), await run('show', ...words, '--json')];
  assert.is(programs.code, people.code);
  const findings: readonly Finding[] = JSON.parse(programs.out).findings ?? [];
  for (const { text } of findings) assert.ok(people.out.includes(text), `people see: ${text}`);
  return {
    code: people.code,
    text: people.out + people.err,
    wrong: findings.filter(({ severity }) => severity === 'error'),
  };
}

let orders = 0;
async function order(accepts: readonly ('USDT' | 'USDC')[] = ['USDT', 'USDC'], expiresInS = 1800) {
  orders++;
  const made = await bench.order(`0${orders}a`, { accepts, expiresInS });
  return { ...made, address: chains.evm.address.format(made.to) };
}

/** Records an answer to everything that is due now. */
async function answerAll(verdict: Verdict, went: Partial<Attempt>): Promise<void> {
  await answerDue(database, clock.nowMs(), went, verdict);
}

async function endpoint(url: string): Promise<string> {
  const { out } = await run('webhook', 'add', url, '--mode', 'test', '--json');
  return JSON.parse(out).id;
}

async function end(seconds: number): Promise<void> {
  clock.skip(seconds * 1000);
  await chain.mine();
  await chain.report('following');
  await database.sessions.settleDue(clock.nowMs(), 100);
}

/** Asserts the exit code, the first thing that is wrong, and what to do. */
function assertBroken(told: Told, area: string, text: RegExp | string, next: RegExp | string): void {
  const [first] = told.wrong;
  assert.equal({ code: told.code, area: first?.area }, { code: 1, area }, told.text);
  assert.match(first?.text ?? '', text);
  assert.match(first?.next ?? '', next);
}

test('an order that waits for its first payment: nothing is broken', async () => {
  const { name, id } = await order();
  await chain.mine();
  await chain.report('following');
  const told = await show(name);
  assert.equal({ code: told.code, wrong: told.wrong }, { code: 0, wrong: [] });
  assert.match(told.text, new RegExp(`^kind +session\nid +${id}\norder +${name}\n`));
  assert.match(told.text, /… credit: nothing was seen yet, until 20/);
});

test('a payment that waits for depth shows how deep it is; credited, and with nobody to tell, nothing is broken', async () => {
  const { id, send } = await order();
  const block = await send(10_000_000n);
  const seen = await show(id);
  assert.is(seen.code, 0);
  assert.match(seen.text, /… transfer: 10\.00 USDT to 0x.* has 1 of 12 confirmations\n/);
  assert.match(seen.text, /seen +10\.00\n/);
  await chain.confirm(block);
  const paid = await show(txOf(block, 0));
  assert.is(paid.code, 0, paid.text);
  assert.match(paid.text, 'had no endpoint in test mode');
  assert.match(
    paid.text,
    /status +paid\n[\s\S]*confirmed +10\.00\n[\s\S]*\npayments:\nNETWORK .*\n.* 10\.00 .* confirmed /,
  );
});

test('a webhook that a firewall refuses, one that failed for good, and an endpoint that is disabled', async () => {
  const id = await endpoint('https://8.8.8.8/hook');
  const { id: session, name, pay } = await order();
  await pay(10_000_000n);
  await answerAll({ kind: 'retry', atMs: clock.nowMs() + 60_000 }, { status: 403 });
  const retried = await show(session);
  const verdict = /not accepted in 1 attempts, the last answer was 403, next at 20/;
  assertBroken(retried, 'delivery', verdict, `quayside show ${id}`);
  assertBroken(await show(id), 'endpoint', 'has accepted nothing since', `webhook resend ${id}`);
  clock.skip(61_000);
  await answerAll({ kind: 'failed' }, { status: 404 });
  const failed = /failed for good after 2 attempts, the last answer was 404/;
  assertBroken(await show(name), 'delivery', failed, 'webhook resend dlv_');
  const [delivery] = await database.deliveries.list({ sessionId: session, limit: 1 });
  for (const part of [delivery?.id ?? '', delivery?.eventId ?? ''])
    assertBroken(await show(part), 'delivery', failed, 'webhook resend dlv_');
  await database.endpoints.enable(id, false, 'answered 410 Gone', clock.nowMs());
  const next = await order();
  await next.pay(10_000_000n);
  assertBroken(
    await show(next.id),
    'delivery',
    /the endpoint is disabled \(answered 410 Gone\)/,
    `webhook set ${id} --state on`,
  );
  await run('webhook', 'set', id, '--state', 'on');
  await answerAll({ kind: 'delivered' }, { status: 200 });
  const told = await show(next.id);
  assert.is(told.code, 0, told.text);
  assert.match(told.text, /payment\.completed +dlv_\w+ +delivered +1 +200 +https:\/\/8\.8\.8\.8\/hook/);
});

test('the wrong token, and less than is due: each is held, and the command that decides is named', async () => {
  const wrong = await order(['USDT']);
  await wrong.pay(10_000_000n, 'USDC');
  const told = await show(wrong.id);
  assertBroken(told, 'held', '10.00 USDC is held (wrong_token: ', /quayside held accept \S+ --reason/);
  const short = await order();
  await short.pay(4_000_000n);
  await end(4_000);
  const failed = await show(short.name);
  assertBroken(failed, 'credit', 'with too little: 4.00 of 10.00 is confirmed', 'decide what becomes of what is held');
  assert.match(failed.text, '4.00 USDT is held (short: the session ended with too little)');
});

test('money that came late, after a cancel, or below the dust floor counts for nothing, and says why', async () => {
  const late = await order(undefined, 60);
  await end(2_000);
  assert.is((await database.sessions.find(late.id))?.life.status, 'expired');
  await late.pay(10_000_000n);
  const told = await show(late.address);
  assertBroken(told, 'held', '10.00 USDT is held (late: ', /held return \S+ --to ADDRESS/);
  const canceled = await order();
  const replay = { idempotencyKey: null, path: 'cancel', bodyHash: '' };
  const cancel = { id: canceled.id, storeId: store, mode: 'test' as const, replay, nowMs: clock.nowMs() };
  await database.sessions.cancel(cancel);
  await canceled.pay(10_000_000n);
  assertBroken(await show(canceled.id), 'held', '10.00 USDT is held (late: ', 'held accept');
  const dust = await order();
  await dust.send(9_000n);
  const small = await show(dust.id);
  assertBroken(
    small,
    'transfer',
    'below the dust floor: recorded, and counts for nothing',
    'send the amount that is due',
  );
});

test('an order that expired without a payment ended well', async () => {
  const { id } = await order(undefined, 60);
  await end(4_000);
  const told = await show(id);
  assert.is(told.code, 0, told.text);
  assert.match(told.text, /· credit: nothing came in time/);
});

test('a payment that a reorg took away waits', async () => {
  const { id, send } = await order();
  const block = await send(10_000_000n);
  await chain.orphanTip();
  const told = await show(id);
  assert.is(told.code, 0);
  assert.match(told.text, new RegExp(`… transfer: .* in block ${block.number} .* left the chain in a reorg`));
});

test('a network that is halted, that is silent, and blocks that were skipped: each is named first', async () => {
  const { id } = await order();
  const report = async (
    state: 'halted' | 'following',
    atMs: number,
    reason: { code: string; message: string } | null,
  ) =>
    database.networks.report({
      network: 'test:ethereum',
      state,
      reason,
      headNumber: 10_000,
      nodeConnected: true,
      nodeHeardAtMs: atMs,
      readThroughS: Math.floor(atMs / 1000),
      pid: 1,
      nowMs: atMs,
    });
  await report('halted', clock.nowMs(), { code: 'chain_id_mismatch', message: 'the node is of chain 5' });
  assertBroken(await show(id), 'network', 'halted (read up to block', 'set the network’s url to a node of its chain');
  await report('following', Date.now() - 600_000, null);
  assertBroken(await show(id), 'network', /its indexer has reported nothing for 6\d\d s/, 'npm start');
  await report('following', clock.nowMs(), null);
  const tip = (await database.networks.list())[0]?.tipNumber ?? 0;
  const range = ['--from', String(tip + 1), '--to', String(tip + 3)];
  const skip = ['network', 'reread', 'test:ethereum', ...range, '--skip', '--reason', 'no node has them'];
  assert.is((await run(...skip)).code, 0);
  const told = await show(id);
  const next = `network reread test:ethereum --from ${tip + 1} --to ${tip + 3}`;
  assertBroken(told, 'network', `blocks ${tip + 1} to ${tip + 3} were skipped (no node has them)`, next);
  const act = { atMs: clock.nowMs(), operator: 'test', command: 'test', reason: null };
  await database.networks.closeGaps('test:ethereum', { from: tip + 1, to: tip + 3, doubtful: [] }, act);
});

test('a refund waits for an address and for approval; when it is ready, a freeze or a missing signer stops it', async () => {
  const check = await createDestinationCheck(config);
  const { id: sessionId, pay } = await order();
  await chain.finalize(await pay(10_000_000n));
  await run('store', 'set', '--refund-automatic=1.00', '--reason', 'test');
  const refund = async (refundId: string, amountMinor: bigint, refundAddress: string | null) => {
    const replay = { idempotencyKey: null, path: '/api/v1/refunds/create', bodyHash: refundId };
    const wish = {
      storeId: store,
      mode: 'test' as const,
      refundId,
      sessionId,
      amountMinor,
      currency: 'USDT' as const,
    };
    const more = { reason: null, description: null, metadata: null, refundAddress, replay, nowMs: clock.nowMs() };
    const outcome = await database.refunds.create({ ...wish, ...more }, check);
    invariant(
      outcome.kind === 'created',
      `the refund is created, not ${outcome.kind} ${outcome.kind === 'refused' ? outcome.why : ''}`,
    );
    return outcome.refund.id;
  };
  const payee = '0x1234567890123456789012345678901234567890';
  const lost = await refund('r1', 100n, null);
  const large = await refund('r2', 500n, payee);
  const waiting = await show(sessionId);
  assert.match(waiting.text, /… refund: \w+ is waiting for the payer’s address until 20/);
  assert.match(waiting.text, `quayside refund destination ${lost} ADDRESS`);
  assert.match((await show('r1')).text, `${lost} is waiting for the payer’s address`);
  assert.match(waiting.text, `${large} is waiting for \`quayside refund approve\``);
  assert.match(waiting.text, `quayside refund approve ${large}`);
  await run('refund', 'approve', large);
  await database.refunds.advance(clock.nowMs(), 10);
  assertBroken(
    await show(sessionId),
    'payout',
    'nothing can be signed: the configuration has no `signer`',
    'docs/money.md',
  );
  const frozen = {
    network: 'test:ethereum' as const,
    code: 'wallet_outflow_foreign',
    reason: 'money left',
    frozenBy: 'quayside',
    sinceMs: clock.nowMs(),
  };
  await database.holds.freeze(frozen, null);
  const told = await show(sessionId);
  assertBroken(told, 'payout', /money out is frozen: .*money left/, 'payout reconcile test:ethereum');
  await run('refund', 'reject', lost, '--reason', 'twice');
  assert.match((await show(sessionId)).text, `✗ refund: ${lost} failed: rejected_by_operator`);
});

test('a transaction of a payout that no session has shows that payout', async () => {
  const intent = {
    kind: 'gas',
    network: network.key,
    index: 0,
    units: 3_000_000n,
    form: 'delegate',
    id: 'ga_1',
  } as const;
  const signed = { generation: 0, attempt: 0, terms: {}, bytes: new Uint8Array(1), signedAtMs: clock.nowMs() };
  const [tx, own] = [`0x${'1'.repeat(64)}`, { payer: 'a'.repeat(40), payerRole: 'gas' as const }];
  const signatures = [{ ...signed, ...own, id: 1, intent, tx }];
  assert.is(await database.payouts.adopt(network.key, { signatures, servedFence: 1, nowMs: clock.nowMs() }), 1);
  for (const name of [tx, 'ga_1']) assert.match((await show(name)).text, /^kind +gas\nid +ga_1\n/);
});

test('addresses: free, retired, spoiled, somebody else’s; and what is nothing at all', async () => {
  const text = (key: string) => chains.evm.address.format(key);
  const free = await show(text(keys[30] ?? ''));
  assert.is(free.code, 0);
  assert.match(free.text, /index +30\nstate +no session has it yet; it is watched/);
  await chain.mine([{ to: keys[31] ?? '', currency: 'USDT', units: 1_000_000n }]);
  assertBroken(await show(text(keys[31] ?? '')), 'transfer', 'no session has this address (spoiled)', 'quayside sweep');
  const foreign = await show('0x1234567890123456789012345678901234567890');
  assert.is(foreign.code, 3);
  assert.match(foreign.text, 'none of our deposit addresses');
  const unseen = await show(`0x${'77'.repeat(32)}`);
  assert.is(unseen.code, 3);
  assert.match(unseen.text, 'no payment to our addresses is known in it');
  await retireMinutes(database, 40);
  assert.match((await show(text(keys[30] ?? ''))).text, 'retired: it is watched, and never given to a session');
  const nothing = await run('show', 'no such order');
  assert.is(nothing.code, 3);
  assert.match(nothing.err, 'has the form of no transaction or address');
});

test.run();
