/**
 * `quayside held` on an installation whose chain a test writes: what is listed, what a decision would do, and what it
 * does.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ledgerProblems } from '../../src/database/ledger.ts';
import { handClock } from '../support/hand-clock.ts';
import { openToolBench } from '../support/tool-bench.ts';

const clock = handClock(Date.now() - 3_600_000);
const { run, answer, store, database, chain, close, ...bench } = await openToolBench({ clock });
test.after(close);
const order = (name: string, accepts: readonly ('USDT' | 'USDC')[] = ['USDT', 'USDC']) =>
  bench.order(name, { accepts, expiresInS: 60 });

test('late money is listed, counted in status, shown with what accepting does, accepted and recorded', async () => {
  const { id, pay } = await order('7a');
  clock.advance(200_000);
  await chain.mine();
  await database.sessions.settleDue(clock.nowMs(), 10);
  await pay(10_000_000n);
  const [held, ...others] = await answer('held', 'list');
  assert.equal([held.kind, held.amount, held.currency, held.session, others], ['late', '10.00', 'USDT', id, []]);
  assert.is((await answer('status')).held_money, 1);
  assert.match((await run('show', id)).out, `held accept ${held.id}`);
  const tried = await answer('held', 'accept', held.id, '--dry-run');
  assert.equal([tried.effect, tried.before.status, tried.after.status], ['paid', 'expired', 'paid']);
  assert.is((await answer('held', 'list')).length, 1, 'a dry run changes nothing');
  const done = await answer('held', 'accept', held.id, '--reason', 'the payer’s bank was slow');
  assert.equal({ ...done, dry_run: true }, tried);
  assert.is((await answer('show', id)).payment_status, 'paid');
  const [entry] = await answer('audit', 'list', '--limit', '1');
  assert.equal([entry.command, entry.target, entry.reason], ['held accept', held.id, 'the payer’s bank was slow']);
  assert.equal(ledgerProblems(await database.ledger.verify()), []);
  assert.equal(await answer('held', 'list'), []);
  const [settled] = await answer('held', 'list', '--state', 'settled');
  assert.equal([settled.id, settled.settled], [held.id, '10.00']);
  assert.is((await run('held', 'accept', held.id)).code, 1);
});

test('a wrong coin and a surplus are settled one after the other', async () => {
  const { pay } = await order('8a', ['USDT']);
  await pay(4_000_000n, 'USDC');
  await pay(11_000_000n);
  const listed = await answer('held', 'list', '--store', store);
  const kinds = listed.map(({ kind, amount, currency }: Record<string, string>) => `${kind} ${amount} ${currency}`);
  assert.equal(kinds.sort(), ['surplus 1.00 USDT', 'wrong_token 4.00 USDC']);
  for (const { id } of listed) {
    const { effect, after } = await answer('held', 'accept', id);
    assert.equal([effect, after.status, after.confirmed, after.due], ['acknowledged', 'paid', '11.00', '10.00']);
  }
  assert.equal(await answer('held', 'list'), []);
  assert.equal(ledgerProblems(await database.ledger.verify()), []);
});

test('a surplus is returned: tried, begun, shown, and then neither accepted nor returned again', async () => {
  const { id: session, pay } = await order('6a', ['USDT']);
  await pay(12_500_000n);
  const [held] = await answer('held', 'list');
  assert.is(held.session, session);
  const payee = '0x1234567890123456789012345678901234567890';
  const words = ['held', 'return', held.id, '--to', payee];
  const because = ['--reason', 'paid too much'];
  for (const wrong of [
    words,
    ['held', 'return', held.id, ...because],
    [...words, ...because, '--network', 'live:nowhere'],
  ]) {
    assert.is((await run(...wrong)).code, 2, wrong.join(' '));
  }
  assert.is((await run('held', 'return', held.id, '--to', 'nowhere', ...because)).code, 1, 'no address');
  const tried = await answer(...words, ...because, '--dry-run');
  assert.equal([tried.amount, tried.currency, tried.address_from, tried.dry_run], ['2.50', 'USDT', 'operator', true]);
  assert.is((await answer('show', held.id)).state, 'open', 'a dry run changes nothing');
  const begun = await answer(...words, ...because);
  assert.equal({ ...begun, dry_run: true }, tried);
  const shown = await answer('show', held.id);
  assert.equal([shown.state, shown.returns.map(({ id }: { id: string }) => id)], ['returning', [begun.return]]);
  for (const again of [words, ['held', 'accept', held.id]]) {
    assert.is((await run(...again, ...because)).code, 1);
  }
  assert.match((await run('show', begun.return)).out, '(surplus money)');
  const [entry] = await answer('audit', 'list', '--limit', '1');
  assert.equal([entry.command, entry.target, entry.reason], ['held return', held.id, 'paid too much']);
  assert.equal(ledgerProblems(await database.ledger.verify()), []);
  await run('refund', 'reject', begun.return, '--reason', 'a test');
  assert.is((await answer('show', held.id)).state, 'open', 'taken back, it is held again');
  assert.equal(ledgerProblems(await database.ledger.verify()), []);
});

test('what does not exist is named, with the command that lists what does', async () => {
  const { code, err } = await run('held', 'accept', 'held_nobody');
  assert.equal([code, err.includes('`quayside held list --state any`')], [3, true]);
  assert.is((await run('held', 'list', '--state', 'lost')).code, 2);
});

test.run();
