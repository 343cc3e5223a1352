/**
 * `quayside held` on an installation whose chain a test writes: what is listed, what a decision would do, and what it
 * does.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openDatabase } from '../../src/app/open-database.ts';
import { loadConfig } from '../../src/config/config.ts';
import { invariant } from '../../src/core/fault.ts';
import { handClock } from '../support/hand-clock.ts';
import { ingestedChain } from '../support/ingested-chain.ts';
import { newSession } from '../support/new-session.ts';
import { runQuayside } from '../support/quayside-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-held-'));
const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0").publicExtendedKey;
const file = join(folder, 'quayside.json');
writeFileSync(file, JSON.stringify({ data_dir: 'data', networks: { sepolia: { url: 'ws://127.0.0.1:1', xpub } } }));
const variables = { QUAYSIDE_CONFIG: file };

const run = (...words: string[]) => runQuayside(words, variables);

async function answer(...words: string[]) {
  const { code, out, err } = await run(...words, '--json');
  assert.is(code, 0, `quayside ${words.join(' ')}: ${err}`);
  return JSON.parse(out);
}

const store = await answer('store', 'add', 'Shop');
const config = loadConfig({ env: { ...process.env, ...variables }, cwd: folder });
const database = openDatabase(config, process.env);
const [network] = config.networks;
invariant(network, 'there is a network');
const clock = handClock(Date.now() - 3_600_000);
const chain = ingestedChain(() => database, clock, network);
test.after(() => {
  database.close();
  rmSync(folder, { recursive: true, force: true });
});

const keys = Array.from({ length: 9 }, (_, n) => (n + 1).toString(16).padStart(40, '0'));
await database.addresses.add({ family: 'evm', mode: 'test', source: 'test', firstIndex: 0, keys });
await chain.mine();
await chain.report('following');

async function order(name: string, accepts: readonly ('USDT' | 'USDC')[] = ['USDT', 'USDC']) {
  const wish = { storeId: store.id, name, networks: [network as NonNullable<typeof network>], amountMinor: 1000 };
  const outcome = await database.sessions.create(
    newSession({ ...wish, accepts, expiresInS: 60, nowMs: clock.nowMs() }),
  );
  invariant(outcome.kind === 'created', `not ${outcome.kind}`);
  const to = outcome.session.addresses.evm ?? '';
  const pay = async (units: bigint, currency: 'USDT' | 'USDC' = 'USDT') =>
    chain.confirm(await chain.mine([{ to, currency, units }]));
  return { id: outcome.session.id, pay };
}

test('late money is listed, counted in status, shown with what accepting does, accepted and recorded', async () => {
  const { id, pay } = await order('7a');
  clock.advance(200_000);
  await chain.mine();
  await database.sessions.settleDue(clock.nowMs(), 10);
  await pay(10_000_000n);
  const [held, ...others] = await answer('held', 'list');
  assert.equal([held.kind, held.amount, held.currency, held.session, others], ['late', '10.00', 'USDT', id, []]);
  assert.is((await answer('status')).held_money, 1);
  assert.match((await run('status')).out, 'held money: 1 waiting for your decision: `quayside held list`');
  assert.match((await run('show', id)).out, new RegExp(`10\\.00 USDT is held \\(late: .*\\n.*held accept ${held.id}`));
  const { out } = await run('held', 'accept', held.id, '--dry-run');
  assert.match(out, /The payment is paid with 10\.00 of 10\.00/);
  const tried = await answer('held', 'accept', held.id, '--dry-run');
  assert.equal([tried.effect, tried.before.status, tried.after.status], ['paid', 'expired', 'paid']);
  assert.is((await answer('held', 'list')).length, 1, 'a dry run changes nothing');
  const done = await answer('held', 'accept', held.id, '--reason', 'the payer’s bank was slow');
  assert.equal({ ...done, dry_run: true }, tried);
  assert.match((await run('show', id)).out, /status +paid\b/);
  const [entry] = await answer('audit', 'list', '--limit', '1');
  assert.equal([entry.command, entry.target, entry.reason], ['held accept', held.id, 'the payer’s bank was slow']);
  assert.is((await answer('ledger', 'verify')).balanced, true);
  assert.equal(await answer('held', 'list'), []);
  const [settled] = await answer('held', 'list', '--state', 'settled', '--session', id);
  assert.equal([settled.id, settled.settled], [held.id, '10.00']);
  const again = await run('held', 'accept', held.id);
  assert.is(again.code, 1);
  assert.match(again.err, 'It is decided already');
});

test('a wrong coin and a surplus are settled one after the other', async () => {
  const { pay } = await order('8a', ['USDT']);
  await pay(4_000_000n, 'USDC');
  await pay(11_000_000n);
  const listed = await answer('held', 'list', '--store', store.id);
  const kinds = listed.map(({ kind, amount, currency }: Record<string, string>) => `${kind} ${amount} ${currency}`);
  assert.equal(kinds.sort(), ['surplus 1.00 USDT', 'wrong_token 4.00 USDC']);
  for (const { id } of listed) {
    const { effect, after } = await answer('held', 'accept', id);
    assert.equal([effect, after.status, after.confirmed, after.due], ['acknowledged', 'paid', '11.00', '10.00']);
  }
  assert.match((await run('held', 'list')).out, 'no held money');
  assert.is((await answer('ledger', 'verify')).balanced, true);
});

test('a surplus is returned: tried, begun, shown, and then neither accepted nor returned again', async () => {
  const { id: session, pay } = await order('6a', ['USDT']);
  await pay(12_500_000n);
  const [held] = await answer('held', 'list', '--session', session);
  const payee = '0x1234567890123456789012345678901234567890';
  const words = ['held', 'return', held.id, '--to', payee];
  assert.match((await run(...words)).err, '--reason');
  const because = ['--reason', 'paid too much'];
  for (const wrong of [
    ['held', 'return', held.id],
    [...words, '--to-sender'],
  ]) {
    const { code, err } = await run(...wrong, ...because);
    assert.is(code, 2);
    assert.match(err, 'Name an address');
  }
  assert.match(
    (await run('held', 'return', held.id, '--to', 'nowhere', ...because)).err,
    'This is not an address of the network',
  );
  const nowhere = await run(...words, ...because, '--network', 'live:nowhere');
  assert.equal([nowhere.code, nowhere.err.includes('`quayside status`')], [2, true]);
  const tried = await answer(...words, ...because, '--dry-run');
  assert.equal([tried.amount, tried.currency, tried.address_from, tried.dry_run], ['2.50', 'USDT', 'operator', true]);
  assert.is((await answer('show', held.id)).state, 'open', 'a dry run changes nothing');
  const begun = await answer(...words, ...because);
  assert.equal({ ...begun, dry_run: true }, tried);
  const shown = await answer('show', held.id);
  assert.equal([shown.state, shown.returns.map(({ id }: { id: string }) => id)], ['returning', [begun.return]]);
  for (const again of [words, ['held', 'accept', held.id]]) {
    const { code, err } = await run(...again, ...because);
    assert.is(code, 1);
    assert.match(err, 'It is decided already');
  }
  assert.match((await run('show', begun.return)).out, '(surplus money)');
  const [entry] = await answer('audit', 'list', '--limit', '1');
  assert.equal([entry.command, entry.target, entry.reason], ['held return', held.id, 'paid too much']);
  assert.is((await answer('ledger', 'verify')).balanced, true);
  await run('refund', 'reject', begun.return, '--reason', 'a test');
  assert.is((await answer('show', held.id)).state, 'open', 'taken back, it is held again');
  assert.is((await answer('ledger', 'verify')).balanced, true);
});

test('what does not exist is named, with the command that lists what does', async () => {
  for (const words of [['accept'], ['return', '--to-sender', '--reason', 'x']]) {
    const { code, err } = await run('held', ...words.slice(0, 1), 'held_nobody', ...words.slice(1));
    assert.is(code, 3);
    assert.match(err, '`quayside held list --state any`');
  }
  assert.is((await run('held', 'list', '--state', 'lost')).code, 2);
});

test.run();
