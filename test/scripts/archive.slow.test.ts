/** `quayside archive` on a real installation: what it would do, does and shows, and what other commands say of it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openDatabase } from '../../src/app/open-database.ts';
import { loadConfig } from '../../src/config/config.ts';
import { invariant } from '../../src/core/fault.ts';
import { DAY_MS, systemClock } from '../../src/lib/clock.ts';
import { handClock } from '../support/hand-clock.ts';
import { ingestedChain } from '../support/ingested-chain.ts';
import { newSession } from '../support/new-session.ts';
import { runProgram, runQuayside } from '../support/quayside-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-archive-'));
const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0").publicExtendedKey;
const settings = join(folder, 'quayside.json');
const networks = { sepolia: { url: 'ws://127.0.0.1:1', xpub } };
writeFileSync(settings, JSON.stringify({ data_dir: 'data', networks, retention: { anonymise_days: 60 } }));
const variables = { QUAYSIDE_CONFIG: settings };
const run = (...words: string[]) => runQuayside(words, variables);

const store = JSON.parse((await run('store', 'create', 'Shop', '--json')).out);
const config = loadConfig({ env: { ...process.env, ...variables }, cwd: folder });
const database = openDatabase(config, process.env);
const [network] = config.networks;
invariant(network, 'there is a network');
const clock = handClock(systemClock.nowMs() - 400 * DAY_MS);
const chain = ingestedChain(() => database, clock, network);
test.after(() => {
  database.close();
  rmSync(folder, { recursive: true, force: true });
});
const keys = Array.from({ length: 9 }, (_, n) => (n + 1).toString(16).padStart(40, '0'));
await database.addAddresses({ family: 'evm', mode: 'test', source: 'test', firstIndex: 0, keys });
await chain.mine();

async function order(name: string) {
  invariant(network, 'there is a network');
  await chain.report('following');
  const wish = newSession({ storeId: store.id, name, networks: [network], amountMinor: 1000, nowMs: clock.nowMs() });
  const request = { ...wish.request, orderId: `order ${name}`, description: 'Roses for Ann' };
  const outcome = await database.createSession({ ...wish, request });
  invariant(outcome.kind === 'created', `not ${outcome.kind}`);
  return outcome.session;
}

const [paid, unpaid] = [await order('1'), await order('2')];
await chain.confirm(await chain.mine([{ to: paid.addresses.evm ?? '', currency: 'USDT', units: 10_000_000n }]));
clock.advance(DAY_MS);
await chain.mine();
await chain.report('following');
await database.settleDue(clock.nowMs(), 9);

const none = { anonymised: 0, anonymised_archived: 0, archived: 0, attempts: 0, endpoints: 0 };

test('a dry run says what would be done; the run does it once and is in the audit log', async () => {
  const planned = JSON.parse((await run('archive', '--dry-run', '--json')).out);
  assert.equal(planned, { dry_run: true, ...none, anonymised: 2, archived: 1 });
  assert.is(await database.findArchived(unpaid.id), null);
  const done = await run('archive', '--because', 'to try it');
  assert.is(done.code, 0, done.err);
  assert.match(done.out, /^1 +never-paid sessions archived +after 90 days \(retention\.archive_days\)$/m);
  assert.equal(JSON.parse((await run('archive', '--json')).out), { dry_run: false, ...none });
  const [, entry] = await database.listAudit(2);
  assert.is(entry?.reason, 'to try it');
  assert.is((entry?.after as Record<string, unknown> | null)?.archived, 1);
});

test('an archived session is shown by its id, order and address, and `explain` and `session show` say so', async () => {
  for (const text of [unpaid.id, 'order 2', `0x${unpaid.addresses.evm}`]) {
    const found = await run('archive', 'find', text);
    assert.is(found.code, 0, found.err);
    assert.match(found.out, /it ended without a payment; what its merchant sent about the payer was removed/);
    assert.match(found.out, new RegExp(unpaid.id));
    const explained = await run('explain', text);
    assert.is(explained.code, 0, explained.out);
    assert.match(explained.out, /archive: archived at .* its addresses are still watched, and money brings it back/);
  }
  assert.match((await run('session', 'show', unpaid.id)).out, /^archived +20/m);
  const missing = await run('archive', 'find', paid.id);
  assert.is(missing.code, 3);
  assert.match(missing.err, /quayside explain/);
  const shown = JSON.parse((await run('archive', 'show', '--json')).out);
  assert.equal([shown.sessions, shown.with_payer_data, shown.last_run.archived], [1, 0, 0]);
});

test('the books are the same afterwards, without what identifies a payer', async () => {
  const file = join(folder, 'books.json');
  assert.is((await run('export', 'payments', '--format', 'json', '--output', file)).code, 0);
  const [row, ...rest] = JSON.parse(readFileSync(file, 'utf8'));
  assert.equal([row.session, row.order, row.amount, rest.length], [paid.id, 'order 1', '10.00', 0]);
  assert.is((await run('ledger', 'verify')).code, 0);
  assert.is((await database.findSession(paid.id))?.request.description, null);
});

test('the program of every night does the same and ends', async () => {
  const ended = await runProgram(['scripts/nightly-archive.ts'], variables);
  assert.is(ended.code, 0, ended.stderr);
  assert.match(ended.stderr, /old data was archived and removed/);
});

test.run();
