/** The program that removes old data at night, on a real installation. */
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

const folder = mkdtempSync(join(tmpdir(), 'quayside-retention-'));
const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0").publicExtendedKey;
const settings = join(folder, 'quayside.json');
const networks = { sepolia: { url: 'ws://127.0.0.1:1', xpub } };
writeFileSync(settings, JSON.stringify({ data_dir: 'data', networks, retention: { anonymise_days: 60 } }));
const variables = { QUAYSIDE_CONFIG: settings };
const run = (...words: string[]) => runQuayside(words, variables);

const store = JSON.parse((await run('store', 'add', 'Shop', '--json')).out);
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
await database.addresses.add({ family: 'evm', mode: 'test', source: 'test', firstIndex: 0, keys });
await chain.mine();

async function order(name: string) {
  invariant(network, 'there is a network');
  await chain.report('following');
  const wish = newSession({ storeId: store.id, name, networks: [network], amountMinor: 1000, nowMs: clock.nowMs() });
  const request = { ...wish.request, orderId: `order ${name}`, description: 'Roses for Ann' };
  const outcome = await database.sessions.create({ ...wish, request });
  invariant(outcome.kind === 'created', `not ${outcome.kind}`);
  return outcome.session;
}

const [paid, unpaid] = [await order('1'), await order('2')];
await chain.confirm(await chain.mine([{ to: paid.addresses.evm ?? '', currency: 'USDT', units: 10_000_000n }]));
clock.advance(DAY_MS);
await chain.mine();
await chain.report('following');
await database.sessions.settleDue(clock.nowMs(), 9);

test('the program of every night removes what identifies payers, and the books are the same afterwards', async () => {
  const export_ = async (name: string) => {
    const file = join(folder, name);
    assert.is((await run('export', 'payments', '--format', 'json', '--output', file)).code, 0);
    return readFileSync(file, 'utf8');
  };
  const before = await export_('before.json');
  assert.match(before, /order 1/);
  const ended = await runProgram(['scripts/nightly-retention.ts'], variables);
  assert.is(ended.code, 0, ended.stderr);
  assert.match(ended.stderr, /"anonymised":2.*old data was removed/);
  for (const { id } of [paid, unpaid]) assert.is((await database.sessions.find(id))?.request.description, null);
  assert.is(await export_('after.json'), before);
  assert.is((await run('ledger', 'verify')).code, 0);
  assert.ok(((await database.reports.stats(systemClock.nowMs())).retentionAtMs ?? 0) > clock.nowMs());
});

test('the next night has nothing to do', async () => {
  const ended = await runProgram(['scripts/nightly-retention.ts'], variables);
  assert.is(ended.code, 0, ended.stderr);
  assert.match(ended.stderr, /"anonymised":0,"attempts":0/);
});

test.run();
