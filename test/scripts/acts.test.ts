/**
 * Commands that are derived from acts: one path through each subject, what the derivation gives to all of them, and
 * the audit log. `test/dashboard/` has what each act refuses.
 */
import { statSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { LOGO_BYTES_MAX } from '../../src/acts/logo.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { have } from '../support/fields.ts';
import { handClock } from '../support/hand-clock.ts';
import { startMerchantServer } from '../support/merchant-server.ts';
import { openToolBench } from '../support/tool-bench.ts';

const webhooks = { allow_cidrs: ['127.0.0.0/8'] };
const settings = { dashboard_url: 'https://quayside.shop.example', webhooks };
// An hour ago, so that an order can end.
const clock = handClock(systemClock.nowMs() - 3_600_000);
const bench = await openToolBench({ settings, clock });
const { run, answer, store, folder, database, network, close } = bench;
const KEY = network.key;
const file = join(folder, 'data', 'quayside.db');
test.after(close);

type Entry = Readonly<{ command: string; target: string; reason: string | null; operator: string }>;
const newest = async (count: number): Promise<Entry[]> => answer('audit', 'list', '--limit', String(count));
const codeOf = async (...words: string[]) => (await run(...words)).code;

test('a store, its keys and its endpoint are created, listed and removed; each change is one entry', async () => {
  const other = await answer('store', 'add', 'Corner shop', '--reason', 'a second one');
  assert.match(other.id, /^mer_[0-9a-z]{10}$/);
  assert.is.not(other.webhook_secrets.live, other.webhook_secrets.test);
  assert.is(statSync(file).mode & 0o777, 0o600);
  const [added] = await newest(1);
  assert.equal([added?.command, added?.target, added?.reason], ['store add', other.id, 'a second one']);
  assert.is(added?.operator.split(' ').at(-1), userInfo().username);

  const words = ['key', 'create', '--store', store, '--mode', 'live', '--scopes', 'sessions:read'];
  const tried = await answer(...words, '--dry-run');
  assert.equal([tried.dry_run, 'api_key' in tried], [true, false]);
  assert.equal(await answer('key', 'list'), [], 'a dry run makes no key');
  const key = await answer(...words);
  assert.match(key.api_key, /^sk_live_[0-9A-Za-z]{32}$/);
  await answer('key', 'revoke', key.id, '--reason', 'it was mailed');
  const [revoked] = await answer('key', 'list', '--store', store);
  assert.equal({ id: revoked.id, scopes: revoked.scopes }, { id: key.id, scopes: ['sessions:read'] });
  assert.ok(revoked.revoked_at);
  const listing = JSON.stringify(await answer('key', 'list'));
  assert.not.ok(listing.includes(key.api_key) || listing.includes(key.api_secret), 'a key is shown once');

  const url = 'https://93.184.215.14/hook';
  const endpoint = await answer('webhook', 'add', url, '--store', store, '--mode', 'live', '--events', 'payment.late');
  const started = await answer('webhook', 'secret', endpoint.id, 'start', '--reason', 'it leaked');
  assert.is(started.webhook_secret, endpoint.webhook_secret);
  await answer('webhook', 'secret', endpoint.id, 'finish');
  const now = await answer('webhook', 'secret', endpoint.id);
  assert.equal([now.webhook_secret, now.next_webhook_secret], [started.next_webhook_secret, null]);
  const [listed] = await answer('webhook', 'list');
  assert.equal([listed.url, listed.extended_events], [url, ['payment.late']]);
  await answer('webhook', 'remove', endpoint.id);
  assert.equal(await answer('webhook', 'list'), []);
  const since = (await newest(6)).map(({ command, target }) => [command, target]);
  assert.equal(since, [
    ['webhook remove', endpoint.id],
    ['webhook secret', endpoint.id],
    ['webhook secret', endpoint.id],
    ['webhook add', endpoint.id],
    ['key revoke', key.id],
    ['key create', key.id],
  ]);
});

const inTest = ['--store', store, '--mode', 'test'];

test('a test event is shown with its answer; the exit code is that of the answer', async () => {
  const server = await startMerchantServer((response, { path }) => {
    if (path === '/good') response.writeHead(200).end('{"received":true}');
    else response.writeHead(403).end('<title>Blocked\u001b[2J</title>');
  });
  const idAt = async (path: string) => (await answer('webhook', 'add', `${server.origin}${path}`, ...inTest)).id;
  const good = await idAt('/good');
  const shown = await answer('webhook', 'test', good);
  assert.equal([shown.delivered, shown.status, shown.error, shown.answer], [true, 200, null, '{"received":true}']);
  assert.is((await answer('show', good)).findings.length, 0, 'nothing is kept');
  const blocked = await run('webhook', 'test', await idAt('/blocked'));
  assert.match(blocked.out, /^The endpoint answered 403, not 2xx[\s\S]*It said +<title>Blocked \[2J<\/title>/);
  await server.close();
  assert.equal(
    { blocked: blocked.code, unknown: await codeOf('webhook', 'test', 'we_none') },
    { blocked: 1, unknown: 3 },
  );
});

test('a door is added with its pid and key, listed among webhooks without it, and closed', async () => {
  const { id, pid, key, url } = await answer('door', 'add', 'epay', '--currency=usd', ...inTest);
  assert.match(key, /^[A-Za-z0-9]{32}$/);
  assert.equal([pid, url.endsWith('/1001/')], [1001, true]);
  const shown = (await run('door', 'add', 'gmpay', '--algorithm=hmac_sha256', ...inTest)).out;
  assert.match(shown, /Save the key now: it is not shown again[\s\S]*Key +[A-Za-z0-9]{32}\n/);
  const listed = await answer('webhook', 'list');
  const own = listed.find((one: Readonly<{ id: string }>) => one.id === id);
  assert.equal({ dialect: own.dialect, pid: own.pid, url: own.url }, { dialect: 'epay', pid: 1001, url });
  assert.not(JSON.stringify(listed).includes(key));
  for (const [words, message] of [
    [['webhook', 'test', id], /A door gets no test event/],
    [['webhook', 'secret', id], /The key of a door is shown once/],
    [['webhook', 'secret', id, 'start'], /The key of a door is shown once/],
    [['door', 'add', 'paypal', ...inTest], /none of these: epay, epusdt, gmpay, bepusdt/],
    [['door', 'add', 'epay', '--currency=CNH', ...inTest], /"CNH" is no currency/],
    [['door', 'add', 'epay', '--algorithm=dual', ...inTest], /Only gmpay has several signatures/],
  ] as const) {
    const { out, err } = await run(...words);
    assert.match(err, message);
    assert.not((out + err).includes(key));
  }
  assert.is(await codeOf('webhook', 'set', id, '--state', 'off'), 0);
  assert.is((await answer('webhook', 'remove', id)).removed, true);
});

const payee = '0x1234567890123456789012345678901234567890';
const order = (name: string) => bench.order(name, { accepts: ['USDT'], expiresInS: 60 });
const heldNow = (...words: string[]) => answer('held', 'list', ...words);

test('a surplus is returned: tried, begun, shown, and held again once rejected', async () => {
  await (await order('6a')).pay(12_500_000n);
  const [held] = await heldNow();
  const words = ['held', 'return', held.id, '--to', payee];
  const because = ['--reason', 'paid too much'];
  for (const wrong of [
    words,
    ['held', 'return', held.id, ...because],
    [...words, ...because, '--network', 'live:nowhere'],
  ])
    assert.is(await codeOf(...wrong), 2, wrong.join(' '));
  const tried = await answer(...words, ...because, '--dry-run');
  assert.equal([tried.amount, tried.to, tried.dry_run], ['2.50 USDT', payee, true]);
  const stateNow = async () => (await heldNow('--state', 'any')).find(({ id }: { id: string }) => id === held.id).state;
  assert.is(await stateNow(), 'open', 'a dry run changes nothing');
  const begun = await answer(...words, ...because);
  assert.equal([begun.amount, begun.address, await stateNow()], ['2.50', payee, 'returning']);
  const [{ id, held_kind: kind }] = (await answer('show', held.id)).refunds;
  assert.equal([id, kind], [begun.return, 'surplus']);
  const [entry] = await newest(1);
  assert.equal([entry?.command, entry?.target, entry?.reason], ['held return', held.id, 'paid too much']);
  await run('refund', 'reject', begun.return, '--reason', 'a test');
  assert.is(await stateNow(), 'open');
});

const png = (width: number, height: number): Buffer => {
  const head = Buffer.from('89504e470d0a1a0a0000000d494844520000000000000000080600000000000000', 'hex');
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  return head;
};

test('every setting of a store is changed, shown before and after, and recorded', async () => {
  const changes = {
    name: ['name', 'Corner shop 2', 'Corner shop 2'],
    zone: ['zone', 'Asia/Kolkata', 'Asia/Kolkata'],
    settlement: ['settlement_currency', 'USDC', 'USDC'],
    tolerance: ['tolerance_minor', '7', 7],
    grace: ['top_up_grace_s', '10', 600],
    monitoring: ['monitoring_s', '1', 86_400],
    late: ['late_policy', 'accept', 'accept'],
    credit: ['credit', 'ethereum=finalized@1000.00,ethereum=30', 'ethereum=finalized@1000.00,ethereum=30'],
    'refund-window': ['refund_window_s', '30', 30 * 86_400],
    'refund-daily': ['refund_daily_minor', '500.00', 50_000],
    'refund-automatic': ['refund_auto_minor', '0.50', 50],
    'refund-cancel-window': ['refund_cancel_window_s', '120', 120],
    'refund-claim': ['refund_claim_s', '3', 3 * 86_400],
    'refund-to-sender': ['refund_to_sender', 'yes', true],
    'refund-early-max': ['refund_early_max_minor', '20.00', 2000],
    accent: ['accent', '#FFFF00', '#ffff00'],
    origins: ['embed_origins', 'https://shop.example, http://localhost', ['https://shop.example', 'http://localhost']],
  } as const;
  const words = Object.entries(changes).map(([setting, [, text]]) => `--${setting}=${text}`);
  const expected = Object.fromEntries(Object.values(changes).map(([key, , value]) => [key, value]));
  assert.match((await run('store', 'set', store, ...words, '--dry-run')).out, /^Tolerance: cents .* +0 → 7$/m);
  const { before, after } = await answer('store', 'set', store, ...words, '--reason', 'a new contract');
  const { logo, ...set } = after;
  assert.equal({ logo, set }, { logo: null, set: expected }, 'the table has every setting');
  for (const [key, value] of Object.entries(expected)) assert.is.not(before[key], value, key);
  assert.equal((await answer('store', 'set', store, '--late=accept')).after, after);
  const entries = (await newest(50)).filter(({ reason }) => reason === 'a new contract');
  have(entries, [{ command: 'store set', target: store }], 'what changes nothing is not recorded');
  const none = ['--credit=none', '--accent=none', '--origins=none'];
  const cleared = await answer('store', 'set', store, ...none);
  assert.equal([cleared.after.credit, cleared.after.accent, cleared.after.embed_origins], ['', null, []]);
  const picture = join(folder, 'logo.png');
  for (const [bytes, code] of [
    [png(320, 80), 0],
    [png(4000, 10), 2],
    [png(0, 10), 2],
    [png(10, 10).subarray(0, 20), 2],
    [Buffer.concat([png(10, 10), Buffer.alloc(LOGO_BYTES_MAX)]), 2],
    [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 2],
  ] as const) {
    writeFileSync(picture, bytes);
    assert.is(await codeOf('store', 'set', store, `--logo=${picture}`), code, String(bytes.subarray(0, 40)));
  }
  assert.match((await answer('store', 'set', store)).after.logo, /^[0-9a-f]{64}$/);
  assert.is((await answer('store', 'set', store, '--logo=none')).after.logo, null);
  const { code, err } = await run('store', 'set', store, '--credit=ethereum=129');
  assert.equal([code, err.includes('credit: ')], [2, true]);
});

test('alarms: the open ones come first, with what somebody said about one', async () => {
  const client = new Sqlite(file);
  client.exec('DELETE FROM alarms');
  const insert = client.prepare('INSERT INTO alarms (at_ms, code, message, key, ended_at_ms) VALUES (?, ?, ?, ?, ?)');
  insert.run(1_800_000_000_000, 'disk_filling', 'the disk fills', 'disk', null);
  insert.run(1_800_000_001_000, 'rates_stale', 'no source is fresh', 'rates', 1_800_000_002_000);
  insert.run(1_800_000_003_000, 'request_failed', 'a request failed', null, null);
  client.close();
  const list = async (...words: string[]) => {
    const all: Record<string, string>[] = await answer('alarm', 'list', ...words);
    return all.map(({ code, state, acknowledged_note: note }) => `${code} ${state} ${note}`);
  };
  const rest = ['request_failed event null', 'rates_stale ended null'];
  assert.equal(await list(), ['disk_filling open null', ...rest]);
  assert.equal(await list('--state', 'open'), ['disk_filling open null']);
  assert.match((await run('status')).out, /\nopen alarms:\nA-\d+ disk_filling, /);
  const [{ id }] = await answer('alarm', 'list');
  await answer('alarm', 'acknowledge', id, '--reason', 'a new disk is ordered');
  assert.equal(await list('--limit', '1'), ['disk_filling open a new disk is ordered', rest[0]]);
});

const frozen = async () =>
  (await answer('status')).payouts.frozen.map((one: { network: string | null; reason: string }) => [
    one.network,
    one.reason,
  ]);

test('money out is frozen with a reason, on a network or on all, shown, and thawed by the same name', async () => {
  assert.is((await answer('payout', 'freeze', 'ethereum', '--reason', 'x', '--dry-run')).id, KEY, 'by its name alone');
  assert.equal([await codeOf('payout', 'freeze'), await codeOf('payout', 'freeze', 'tron', '--reason', 'x')], [2, 3]);
  assert.is(await codeOf('payout', 'thaw', '--reason', 'x'), 3, 'nothing is frozen');
  assert.is((await answer('payout', 'freeze', '--reason', 'x', '--dry-run')).id, 'every network');
  assert.equal(await frozen(), []);
  assert.is((await answer('payout', 'freeze', KEY, '--reason', 'a key was lost')).changed, true);
  assert.is((await answer('payout', 'freeze', KEY, '--reason', 'again')).changed, false);
  await answer('payout', 'freeze', '--reason', 'all of it');
  const both = [
    [null, 'all of it'],
    [KEY, 'a key was lost'],
  ];
  assert.equal(await frozen(), both);
  assert.match((await run('status')).out, /FROZEN: test:ethereum, by .+ since .+: a key was lost/);
  assert.is((await answer('payout', 'thaw', '--reason', 'found', '--dry-run')).because, 'all of it');
  assert.equal((await answer('payout', 'thaw', '--reason', 'found')).still_frozen, [KEY]);
  await answer('payout', 'freeze', '--reason', 'all of it');
  const { out } = await run('payout', 'thaw', '--reason', 'found');
  assert.match(out, /Still frozen +test:ethereum: [\s\S]*: quayside doctor/);
  assert.equal(await frozen(), both.slice(1));
  assert.equal((await answer('payout', 'thaw', KEY, '--reason', 'found')).still_frozen, []);
  const [last] = await newest(1);
  assert.equal([last?.command, last?.target, last?.reason], ['payout thaw', KEY, 'found']);
});

test('what the program froze by itself is ended by `payout reconcile` alone', async () => {
  const stolen = { network: KEY, code: 'wallet_outflow_foreign', reason: 'money left', frozenBy: 'quayside' } as const;
  await database.holds.freeze({ ...stolen, sinceMs: 5 }, null);
  const refused = await run('payout', 'thaw', KEY, '--reason', 'it is done');
  assert.equal([refused.code, refused.err.includes(`\`quayside payout reconcile ${KEY} `)], [1, true]);
  await answer('payout', 'freeze', KEY, '--reason', 'maintenance');
  const { out } = await run('payout', 'thaw', KEY, '--reason', 'it is done');
  assert.match(out, new RegExp(`Still frozen +${KEY}: money left[\\s\\S]*Next, run: quayside status`));
  assert.equal(await frozen(), [[KEY, 'money left']]);
  const { code, err } = await run('payout', 'reconcile', KEY);
  assert.equal([code, err.includes('has no `signer`')], [1, true]);
});

test('what others chose cannot control the terminal', async () => {
  const [{ id, name: before }] = (await answer('status')).stores;
  const name = 'evil\u001b[2J\u009b5m\u202egnp\nline';
  const isHarmless = (text: string) => ['\u001b', '\u009b', '\u202e'].every((one) => !text.includes(one));
  const raw = new Sqlite(file);
  const rename = (to: string) => raw.prepare('UPDATE stores SET name = ? WHERE id = ?').run(to, id);
  rename(name);
  for (const words of [['status'], ['status', '--json'], ['store', 'set', id]]) {
    const { out } = await run(...words);
    assert.ok(out.includes('evil\\u001b[2J\\u009b5m\\u202egnp') && isHarmless(out), out);
  }
  const { err } = await run('webhook', 'remove', name);
  assert.ok(err.includes('evil') && isHarmless(err));
  const [listed] = (await answer('status')).stores;
  assert.is(listed.name, name, 'JSON keeps its meaning');
  rename(before);
  raw.close();
});

test.run();
