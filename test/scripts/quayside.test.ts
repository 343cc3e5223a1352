/**
 * The `quayside` command on an installation that is not running.
 */
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { quaysideTool } from '../../scripts/cli/quayside.ts';
import { signerTool } from '../../scripts/cli/signer-tool.ts';
import { runTool } from '../../scripts/cli/tool.ts';
import { readShipped } from '../../src/lib/installation.ts';
import { runQuayside } from '../support/quayside-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-tool-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0").publicExtendedKey;
const file = join(folder, 'quayside.json');
const networks = { sepolia: { url: 'ws://127.0.0.1:1', xpub }, ethereum: { url: 'ws://127.0.0.1:1', xpub } };
writeFileSync(file, JSON.stringify({ data_dir: 'data', networks }));
const variables = { QUAYSIDE_CONFIG: file };

const run = (...words: string[]) => runQuayside(words, variables);

async function answer(...words: string[]) {
  const { code, out, err } = await run(...words, '--json');
  assert.is(code, 0, `quayside ${words.join(' ')}: ${err}`);
  return JSON.parse(out);
}

test('a store, its keys and its endpoint are created, listed and removed', async () => {
  const store = await answer('store', 'add', 'Corner shop');
  await answer('store', 'set', '--settlement', 'USDC', '--late', 'accept', '--tolerance', '5');
  assert.match(store.id, /^mer_[0-9a-z]{26}$/);
  assert.is(store.webhook_secret, store.webhook_secrets.live);
  assert.is.not(store.webhook_secrets.live, store.webhook_secrets.test);
  assert.is(statSync(join(folder, 'data', 'quayside.db')).mode & 0o777, 0o600);
  const [listed] = await answer('store', 'list');
  const { webhook_secret: _, webhook_secrets: __, ...shown } = store;
  assert.equal(Object.keys(listed), Object.keys(shown));
  assert.equal([listed.settlement_currency, listed.late_policy, listed.tolerance_minor], ['USDC', 'accept', 5]);

  const key = await answer('key', 'create', '--mode', 'live', '--scopes', 'sessions:read,sessions:write');
  assert.match(key.api_key, /^sk_live_[0-9A-Za-z]{32}$/);
  assert.match(key.api_secret, /^ss_/);
  await answer('key', 'revoke', key.id, '--reason', 'it was mailed');
  const [entry] = await answer('audit', 'list', '--limit', '1');
  assert.equal([entry.command, entry.target, entry.reason], ['key revoke', key.id, 'it was mailed']);
  assert.is(entry.operator.split(' ').at(-1), userInfo().username);
  const [revoked] = await answer('key', 'list', '--store', store.id);
  assert.is(revoked.id, key.id);
  assert.equal(revoked.scopes, ['sessions:read', 'sessions:write']);
  assert.ok(revoked.revoked_at);
  const listing = JSON.stringify(await answer('key', 'list'));
  assert.not.ok(listing.includes(key.api_key) || listing.includes(key.api_secret), 'a key is shown once');

  const url = 'https://93.184.215.14/hook';
  const endpoint = await answer('webhook', 'add', url, '--mode', 'live', '--events', 'payment.late');
  assert.match(endpoint.webhook_secret, /^whsec_/);
  assert.not.ok(Object.values(store.webhook_secrets).includes(endpoint.webhook_secret), 'an endpoint has its own');
  const endpoints = await answer('webhook', 'list');
  assert.equal([endpoints.length, endpoints[0].url, endpoints[0].extended_events], [1, url, ['payment.late']]);
  await answer('webhook', 'remove', endpoint.id);
  assert.equal(await answer('webhook', 'list'), []);
  const newest = await answer('audit', 'list', '--limit', '2');
  assert.equal(
    newest.map(({ command, target }: Record<string, string>) => [command, target]),
    [
      ['webhook remove', endpoint.id],
      ['webhook add', endpoint.id],
    ],
    'every command that changes something is recorded, and nothing else',
  );
});

test('a key is made with an end, ranges and scopes, which are listed', async () => {
  const words = ['key', 'create', '--mode', 'test', '--scopes', 'refunds:read', '--expires', '30d'];
  const dry = await answer(...words, '--from', '203.0.113.7', '--dry-run');
  assert.equal(
    [dry.from, dry.scopes, dry.dry_run, 'api_key' in dry],
    [['203.0.113.7/32'], ['refunds:read'], true, false],
  );
  const earlier = (await answer('key', 'list')).length;
  const key = await answer(...words, '--from', '203.0.113.0/24, 2001:db8::7', '--reason', 'for reports');
  const listed = (await answer('key', 'list')) as Record<string, unknown>[];
  assert.is(listed.length, earlier + 1, 'a dry run makes no key');
  const { api_key: _key, api_secret: secret, dry_run: _dry, ...shown } = key;
  assert.equal(listed.at(-1), shown);
  assert.equal(shown.from, ['203.0.113.0/24', '2001:db8::7/128']);
  const days = (Date.parse(`${shown.expires_at}Z`) - Date.parse(`${shown.created_at}Z`)) / 86_400_000;
  assert.is(days, 30);
  assert.equal([shown.last_used_at, shown.last_used_from], [null, null]);
  const [entry] = await answer('audit', 'list', '--limit', '1');
  assert.equal([entry.command, entry.target, entry.reason, entry.before], ['key create', key.id, 'for reports', null]);
  assert.equal([entry.after.scopes, entry.after.sources], ['refunds:read', '203.0.113.0/24,2001:db8::7/128']);
  assert.not.ok(JSON.stringify(entry).includes(secret));
  const made = await run('key', 'create', '--mode', 'test');
  assert.match(
    made.out,
    /\nit may +sessions:read, sessions:write, refunds:read, refunds:write, webhooks:write\n/,
    'a test key may all',
  );
  assert.match(made.out, /it may not +nothing is left out/);
  const sessions = await run('key', 'create', '--mode', 'live', '--scopes', 'sessions:read,sessions:write');
  assert.match(sessions.out, /\nit may not +refunds:read, refunds:write, webhooks:write\n/);
  const paying = ['key', 'create', '--mode', 'live', '--scopes', 'refunds:write'];
  assert.match((await run(...paying, '--dry-run')).out, 'can send refunds');
  for (const bad of [
    ['--expires', '2020-01-01'],
    ['--expires', 'soon'],
    ['--from', 'shop.example'],
    ['--from', '203.0.113.0/33'],
  ]) {
    assert.is((await run('key', 'create', '--mode', 'test', ...bad)).code, 2, bad.join(' '));
  }
});

test('a store is suspended with a reason, which `store list` and `status` show, and resumed', async () => {
  const [{ id, status }] = await answer('store', 'list');
  assert.is(status, 'approved');
  const decide = (decision: string, ...more: string[]) => run('store', 'decide', id, decision, ...more);
  assert.is((await decide('suspend')).code, 2, 'without a reason');
  const dry = await answer('store', 'decide', id, 'suspend', '--reason', 'fraud', '--dry-run');
  assert.equal([dry.id, dry.decision, dry.status, dry.dry_run], [id, 'suspend', 'approved', true]);
  assert.is((await answer('store', 'list'))[0].status, 'approved');
  const done = await answer('store', 'decide', id, 'suspend', '--reason', 'fraud');
  assert.equal([done.status, done.dry_run], ['suspended', false]);
  const again = await decide('suspend', '--reason', 'again');
  assert.equal([again.code, /is suspended: it is too late to suspend it/.test(again.err)], [1, true]);
  const [listed] = await answer('store', 'list');
  assert.equal([listed.status, listed.suspended_because], ['suspended', 'fraud']);
  const [entry] = await answer('audit', 'list', '--limit', '1');
  assert.equal([entry.command, entry.target, entry.after.because], ['store decide', id, 'fraud']);
  assert.is((await answer('store', 'decide', id, 'resume')).status, 'approved');
  assert.is((await decide('resume')).code, 1);
  assert.is((await decide('close')).code, 2);
  assert.is((await run('store', 'decide', 'mer_none', 'resume')).code, 3);
});

test('a webhook secret is shown and rotated, by its endpoint or store', async () => {
  const [{ id: store }] = await answer('store', 'list');
  const url = 'https://93.184.215.14/rotated';
  const { id, webhook_secret: first } = await answer('webhook', 'add', url, '--mode', 'live');
  const other = await run('webhook', 'add', `${url}#again`, '--mode', 'test');
  assert.is(other.code, 1);
  assert.match(other.err, 'already receives events of the other mode');

  await answer('webhook', 'secret', id, '--rotate', 'start', '--dry-run');
  assert.is((await answer('webhook', 'secret', id)).next_webhook_secret, null);
  const started = await answer('webhook', 'secret', id, '--rotate', 'start', '--reason', 'it leaked');
  assert.is(started.webhook_secret, first);
  assert.match(started.next_webhook_secret, /^whsec_/);
  const again = await run('webhook', 'secret', id, '--rotate', 'start');
  assert.equal([again.code, again.err.includes('A new secret was made already.')], [1, true]);
  await answer('webhook', 'secret', id, '--rotate', 'finish');
  const now = await answer('webhook', 'secret', id);
  assert.equal([now.webhook_secret, now.next_webhook_secret], [started.next_webhook_secret, null]);
  const [, entry] = await answer('audit', 'list', '--limit', '2');
  assert.equal([entry.command, entry.target, entry.reason], ['webhook secret', id, 'it leaked']);

  const ofStore = await answer('webhook', 'secret', store, '--mode', 'test');
  assert.equal([ofStore.owner, ofStore.mode], [store, 'test']);
  assert.is((await run('webhook', 'secret', 'we_none')).code, 3);
  await answer('webhook', 'remove', id);
});

test('what others chose cannot control the terminal', async () => {
  const [{ id, name: before }] = await answer('store', 'list');
  const name = 'evil\u001b[2J\u009b5m\u202egnp\nline';
  const isHarmless = (text: string) => ['\u001b', '\u009b', '\u202e'].every((one) => !text.includes(one));
  const database = new Sqlite(join(folder, 'data', 'quayside.db'));
  const rename = (to: string) => database.prepare('UPDATE stores SET name = ? WHERE id = ?').run(to, id);
  rename(name);
  for (const words of [['list'], ['list', '--json'], ['set', id]]) {
    const { out } = await run('store', ...words);
    assert.ok(out.includes('evil\\u001b[2J\\u009b5m\\u202egnp'), out);
    assert.ok(isHarmless(out), words.join(' '));
  }
  const { err } = await run('webhook', 'remove', name);
  assert.ok(err.includes('evil') && isHarmless(err));
  const [listed] = await answer('store', 'list');
  assert.is(listed.name, name, 'JSON keeps its meaning');
  rename(before);
  database.close();
});

test('a network that was never read is listed, and the commands that move it refuse with a reason', async () => {
  const [listed] = (await answer('status')).networks;
  assert.equal([listed.network, listed.state, listed.next], ['test:ethereum', 'not started', null]);
  const shown = await run('show', 'test:ethereum', '--json');
  assert.equal([shown.code, JSON.parse(shown.out).node_url], [1, 'ws://127.0.0.1:1']);
  const refusals: [words: string[], code: number, error: RegExp][] = [
    [['rewind', 'nowhere', '--to', '5', '--reason', 'x'], 3, /no network "nowhere"; configured: .*test:ethereum/],
    [['rewind', 'ethereum', '--to', '5', '--reason', 'x'], 3, /there are several networks "ethereum"/],
    [['rewind', 'test:ethereum', '--to', '5'], 2, /required option '--reason <REASON>' not specified/],
    [['rewind', 'test:ethereum', '--to', '5', '--reason', 'x'], 1, /has not been read yet/],
    [['reread', 'test:ethereum', '--from', 'five', '--skip', '--reason', 'x'], 2, /--from is "five"/],
    [['reread', 'test:ethereum', '--from', '5', '--skip'], 2, /--reason is missing/],
    [['reread', 'test:ethereum', '--from', '5', '--skip', '--reason', 'x'], 1, /has not been read yet/],
    [['reread', 'test:ethereum', '--from', '5', '--to', '4'], 2, /--to is 4, below --from 5/],
    [['reread', 'test:ethereum', '--from', '5', '--to', '6'], 1, /has not been read yet/],
  ];
  for (const [words, code, error] of refusals) {
    const ended = await run('network', ...words);
    assert.is(ended.code, code, words.join(' '));
    assert.match(ended.err, error);
  }
});

test('every setting of a store is changed, shown before and after, and recorded', async () => {
  const [{ id }] = await answer('store', 'list');
  const changes = {
    name: ['name', 'Corner shop 2', 'Corner shop 2'],
    zone: ['zone', 'Asia/Kolkata', 'Asia/Kolkata'],
    settlement: ['settlement_currency', 'USDT', 'USDT'],
    tolerance: ['tolerance_minor', '7', 7],
    grace: ['top_up_grace_s', '10', 600],
    monitoring: ['monitoring_s', '1', 86_400],
    late: ['late_policy', 'hold', 'hold'],
    credit: ['credit', 'ethereum=finalized@1000.00,ethereum=30', 'ethereum=finalized@1000.00,ethereum=30'],
    'refund-window': ['refund_window_s', '30', 30 * 86_400],
    'refund-daily': ['refund_daily_minor', '500.00', 50_000],
    'refund-automatic': ['refund_auto_minor', '0.50', 50],
    'refund-cancel-window': ['refund_cancel_window_s', '120', 120],
    'refund-claim': ['refund_claim_s', '3', 3 * 86_400],
    'refund-to-sender': ['refund_to_sender', 'yes', true],
    'refund-early-max': ['refund_early_max_minor', '20.00', 2000],
    accent: ['accent', '#FFFF00', '#ffff00'],
    origins: [
      'embed_origins',
      'https://shop.example, http://localhost:3000',
      ['https://shop.example', 'http://localhost:3000'],
    ],
  } as const;
  const words = Object.entries(changes).flatMap(([option, [, text]]) => [`--${option}`, text]);
  const expected = Object.fromEntries(Object.values(changes).map(([key, , value]) => [key, value]));
  const tried = await answer('store', 'set', id, ...words, '--dry-run');
  const { logo, ...set } = tried.after;
  assert.equal([logo, set], [null, expected], 'the table has every setting');
  for (const [key, value] of Object.entries(expected)) assert.is.not(tried.before[key], value, key);
  assert.equal((await answer('store', 'set', id)).after, tried.before, 'a dry run changes nothing');
  const { out } = await run('store', 'set', id, '--late', 'hold', '--dry-run');
  assert.match(
    out,
    /^Save the settings of Corner shop\?\na full payment that comes late +is accepted → is held for your/,
  );
  assert.match(out, '\nNothing was changed.\n');
  const done = await answer('store', 'set', id, ...words, '--reason', 'a new contract');
  assert.equal(done, { ...tried, dry_run: false });
  const [listed] = await answer('store', 'list');
  assert.equal([listed.name, listed.late_policy, listed.top_up_grace_s], ['Corner shop 2', 'hold', 600]);
  assert.is((await answer('store', 'set')).after.refund_daily_minor, 50_000);
  const [page, entry] = await answer('audit', 'list', '--limit', '2');
  for (const { command, target, reason } of [page, entry]) {
    assert.equal([command, target, reason], ['store set', id, 'a new contract']);
  }
  assert.equal([entry.before.latePolicy, entry.after.latePolicy], ['accept', 'hold']);
  assert.match(
    (await run('store', 'set', id, '--late', 'hold')).out,
    /^Nothing was changed\.\n[\s\S]*\ncolour +#ffff00\n/,
  );
  const entries: { command: string; reason: string | null }[] = await answer('audit', 'list');
  const updates = entries.filter((one) => one.command === 'store set' && one.reason === 'a new contract');
  assert.is(updates.length, 2, 'what changes nothing is not recorded');
  const cleared = await answer(
    ...['store', 'set', id, '--name', 'Corner shop', '--credit', 'none', '--accent', 'none', '--origins', 'none'],
  );
  assert.equal([cleared.after.credit, cleared.after.accent, cleared.after.embed_origins], ['', null, []]);
});

test('a store’s credit rules are refused unless the configured networks can meet them', async () => {
  const [{ id }] = await answer('store', 'list');
  for (const [credit, why] of [
    ['finalized', /--credit: "finalized" are no rules: write NETWORK=CONDITION/],
    ['ethereum=safe', /a condition is a number of blocks, finalized or second-node/],
    ['bsc=30', /--credit: it names bsc: no such network is configured/],
    [
      'ethereum=second-node@500',
      /--credit: it names ethereum: .*:ethereum has no second node; set its witness_url first/,
    ],
    ['ethereum=129', /129 blocks are more than reorg_depth_max \(128\) of .*:ethereum/],
  ] as const) {
    const { code, err } = await run('store', 'set', id, '--credit', credit);
    assert.is(code, 2, credit);
    assert.match(err, why);
  }
  assert.is((await answer('store', 'list')).length, 1);
});

test('alarm list shows the open ones first, then the newest others', async () => {
  await answer('status');
  const client = new Sqlite(join(folder, 'data', 'quayside.db'));
  const insert = client.prepare('INSERT INTO alarms (at_ms, code, message, key, ended_at_ms) VALUES (?, ?, ?, ?, ?)');
  insert.run(1_800_000_000_000, 'disk_filling', 'the disk fills', 'disk', null);
  insert.run(1_800_000_001_000, 'clock_skewed', 'the clock is off', 'clock', 1_800_000_002_000);
  insert.run(1_800_000_003_000, 'request_failed', 'a request failed', null, null);
  client.close();
  const shown = (list: { code: string; state: string; ended_at: string | null }[]) =>
    list.map(({ code, state, ended_at }) => [code, state, ended_at]);
  assert.equal(shown(await answer('alarm', 'list')), [
    ['disk_filling', 'open', null],
    ['request_failed', 'event', null],
    ['clock_skewed', 'ended', '2027-01-15 08:00:02'],
  ]);
  assert.equal(shown(await answer('alarm', 'list', '--state', 'open')), [['disk_filling', 'open', null]]);
  assert.equal(shown(await answer('alarm', 'list', '--limit', '1')), [
    ['disk_filling', 'open', null],
    ['request_failed', 'event', null],
  ]);
  const { open_alarms, alarms } = await answer('status');
  assert.equal([shown(open_alarms).length, alarms.length], [1, 3]);
  assert.match((await run('status')).out, /\nopen alarms:\n.*\n.* disk_filling /);
});

test('an alarm is acknowledged once, by its number; what is over or unknown is said to be', async () => {
  const [{ id: name }] = await answer('alarm', 'list', '--state', 'open');
  const acknowledge = async (id: string, ...more: string[]) => answer('alarm', 'acknowledge', id, ...more);
  assert.equal((await acknowledge(name, '--dry-run')).dry_run, true);
  assert.is((await answer('alarm', 'list', '--state', 'open'))[0].acknowledged_at, null);
  const done = await acknowledge(name, '--reason', 'a new disk is ordered');
  assert.equal([done.id, done.outcome, done.dry_run], [name, 'acknowledged', false]);
  assert.is((await run('alarm', 'acknowledge', name, '--reason', 'x'.repeat(201))).code, 2);
  assert.is((await acknowledge(name.replace('A-', ''))).outcome, 'already');
  const [now] = await answer('alarm', 'list', '--state', 'open');
  assert.is(now.acknowledged_note, 'a new disk is ordered');
  const ended = (await answer('alarm', 'list')).find(({ state }: { state: string }) => state === 'ended');
  assert.is((await acknowledge(ended.id)).outcome, 'over');
  const [entry] = await answer('audit', 'list');
  assert.equal([entry.command, entry.target, entry.reason], ['alarm acknowledge', name, 'a new disk is ordered']);
  assert.is((await run('alarm', 'acknowledge', 'A-999999')).code, 3);
  assert.is((await run('alarm', 'acknowledge', 'disk')).code, 2);
});

test('an event is over once it is acknowledged', async () => {
  const all: { id: string; state: string }[] = await answer('alarm', 'list');
  const event = all.find((one) => one.state === 'event')?.id ?? '';
  assert.is((await answer('alarm', 'acknowledge', event, '--reason', 'the order was called back')).outcome, 'over');
  assert.is((await answer('alarm', 'list')).find((one: { id: string }) => one.id === event)?.state, 'resolved');
  assert.is((await answer('alarm', 'acknowledge', event)).outcome, 'already');
  const [entry] = await answer('audit', 'list');
  assert.equal([entry.command, entry.target], ['alarm acknowledge', event]);
});

const missing = '0'.repeat(26);
const refused: readonly (readonly [number, RegExp, ...string[]])[] = [
  [2, /^$/],
  [2, /unknown command 'nonsense'/, 'nonsense'],
  [2, /missing required argument 'thing'/, 'show'],
  [2, /too many arguments/, 'show', 'cs_1', 'cs_2'],
  [2, /--colour/, 'status', '--colour'],
  [2, /'both' is invalid. Allowed choices are live, test/, 'key', 'create', '--mode', 'both'],
  [2, /required option '--mode <live\|test>' not specified/, 'key', 'create'],
  [2, /option '--mode <live\|test>' argument missing/, 'key', 'create', '--mode'],
  [2, /unknown option '--jsn'\n.*\(Did you mean --json\?\)/, 'status', '--jsn'],
  [2, /--scopes: Choose at least one thing that the key may do/, 'key', 'create', '--mode', 'live'],
  [2, /--scopes: "everything" is no scope/, 'key', 'create', '--mode', 'test', '--scopes', 'everything'],
  [2, /--tolerance: “Tolerance: .*” cannot be “-1”/, 'store', 'set', '--tolerance=-1'],
  [2, /--accent: A colour is written like #0b6e5f/, 'store', 'set', '--accent', 'yellow'],
  [
    2,
    /--origins: Name at most 20 sites, such as .*, without a path/,
    'store',
    'set',
    '--origins',
    'https://a.example/b',
  ],
  [2, /--origins: Name at most 20 sites/, 'store', 'set', '--origins', '*'],
  [2, /That URL cannot be used/, 'webhook', 'add', 'http://169.254.169.254/latest', '--mode', 'test'],
  [3, /nothing here is called "cs_nonsense"/, 'show', 'cs_nonsense'],
  [3, /nothing here is called/, 'show', `cs_${missing}`],
  [3, /there is no key key_nobody; `quayside key list`/, 'key', 'revoke', 'key_nobody'],
  [3, /there is no store mer_nobody/, 'key', 'create', '--mode', 'test', '--store', 'mer_nobody'],
  [3, /there is no store mer_nobody; `quayside store list`/, 'store', 'set', 'mer_nobody', '--late', 'hold'],
  [2, /'later' is invalid/, 'store', 'set', 'mer_nobody', '--late', 'later'],
  [2, /--refund-daily: .* cannot be “1.001”/, 'store', 'set', 'mer_nobody', '--refund-daily', '1.001'],
  [3, /there is no delivery/, 'webhook', 'resend', 'dlv_nobody'],
];

for (const [code, message, ...words] of refused) {
  test(`exit code ${code}: quayside ${words.join(' ')}`, async () => {
    const ended = await run(...words);
    assert.is(ended.code, code, ended.err);
    assert.match(ended.err, message);
  });
}

test('with --json, a refusal is JSON too', async () => {
  const { code, out } = await run('key', 'revoke', 'key_nobody', '--json');
  assert.is(code, 3);
  assert.is(JSON.parse(out).error.code, 'not_found');
});

test('--help exits with 0: of a command, of a group and of everything, on lines that a terminal shows whole', async () => {
  for (const [words, expected] of [
    [['pay', '--help'], /Usage: quayside pay \[options\] <session>[\s\S]*--network <NAME>/],
    [['help', 'pay'], /Usage: quayside pay \[options\] <session>/],
    [['key', 'create', '--help'], /--mode <live\|test> +.* \(required\)/],
    [['payout', '--help'], /list [\s\S]*resolve [^\n]*<id>/],
    [
      ['--help'],
      /\nEvery day:\n {2}status [^\n]* +Show [\s\S]*\nSetting up:\n[\s\S]*\n {2}key +create, list, revoke\n/,
    ],
  ] as const) {
    const { code, out, err } = await run(...words);
    assert.equal([code, err], [0, ''], words.join(' '));
    assert.match(out, expected);
  }
  const { out } = await run('--help');
  for (const line of out.split('\n')) assert.ok(line.length <= 130, `${line.length} columns: ${line}`);
  for (const tool of [quaysideTool, signerTool]) {
    const shownSubjects = tool.sections.flatMap(([, subjects]) => subjects).sort();
    const subjects = [...new Set(tool.commands.map(({ name }) => name.split(' ')[0] ?? ''))].sort();
    assert.equal(shownSubjects, subjects, `the overview of ${tool.name} has each subject once`);
  }
  const group = await run('payout');
  assert.equal([group.code, group.err], [2, '']);
  assert.match(group.out, /quayside payout/);
});

test('--version names the version', async () => {
  const { version } = readShipped<{ version: string }>('package.json');
  assert.equal(await run('--version'), { code: 0, out: `quayside ${version}\n`, err: '' });
});

test('the signer has a tool of its own: at most nine commands on one screen, and its own name before its errors', async () => {
  const runSigner = (...words: string[]) => runTool(signerTool, words, {}, '/');
  const { version } = readShipped<{ version: string }>('package.json');
  assert.equal(await runSigner('--version'), { code: 0, out: `quayside-signer ${version}\n`, err: '' });
  const { code, out } = await runSigner('--help');
  assert.is(code, 0);
  assert.match(out, /\nSetting up:\n {2}init [^\n]* +Create a seed/);
  assert.ok(signerTool.commands.length <= 9, `${signerTool.commands.length} commands`);
  const typo = await runSigner('thraw');
  assert.equal([typo.code, typo.out], [2, '']);
  assert.match(typo.err, /^quayside-signer: unknown command 'thraw'\n.*\(Did you mean thaw\?\)/);
  assert.match((await run('signer', 'init')).err, "unknown command 'signer'");
});

test('a typo is answered with the command that was meant, and not with all of them', async () => {
  for (const [words, expected] of [
    [['staus'], /unknown command 'staus'\n.*\(Did you mean status\?\)/],
    [['key', 'lst'], /unknown command 'lst'\n.*\(Did you mean list\?\)/],
    [['payout', 'everything'], /unknown command 'everything'/],
  ] as const) {
    const { code, out, err } = await run(...words);
    assert.equal([code, out], [2, '']);
    assert.match(err, expected);
  }
});

test('no command but `store add` makes an installation', async () => {
  const dataDir = join(folder, 'mistyped');
  const elsewhere = { ...variables, QUAYSIDE_DATA_DIR: dataDir };
  for (const words of [['key', 'list'], ['status'], ['user', 'link', 'Ann']]) {
    const { code, out, err } = await runQuayside(words, elsewhere);
    assert.equal([code, out], [2, '']);
    assert.match(err, `there is no installation in ${dataDir}; check QUAYSIDE_DATA_DIR`);
  }
  assert.is(existsSync(dataDir), false);
  assert.is((await runQuayside(['store', 'add', 'First'], elsewhere)).code, 0);
  assert.is((await runQuayside(['key', 'list'], elsewhere)).code, 0);
});

test('an invalid configuration gives exit code 2', async () => {
  const { code, err } = await runQuayside(['store', 'list'], { ...variables, QUAYSIDE_PORT: 'x' });
  assert.is(code, 2);
  assert.match(err, /port: "x", expected a whole number .* \(set by QUAYSIDE_PORT\)/);
});

test('a key whose row somebody else has changed is marked, until it is revoked', async () => {
  const key = await answer('key', 'create', '--mode', 'test');
  const raw = new Sqlite(join(folder, 'data', 'quayside.db'));
  raw.prepare(`UPDATE keys SET scopes = '["refunds:write"]' WHERE id = ?`).run(key.id);
  raw.close();
  const listed = await run('key', 'list', '--json');
  assert.is(listed.code, 1);
  const marked = JSON.parse(listed.out).flatMap((one: { id: string; altered: boolean }) =>
    one.altered ? [one.id] : [],
  );
  assert.equal(marked, [key.id]);
  assert.match((await run('key', 'list')).out, `\`quayside key revoke ${key.id}\` and create another`);
  await answer('key', 'revoke', key.id);
  assert.is((await run('key', 'list')).code, 0);
});

test.run();
