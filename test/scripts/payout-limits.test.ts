/** `quayside payouts limits`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runQuayside } from '../support/quayside-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-limits-'));
const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0").publicExtendedKey;
const file = join(folder, 'quayside.json');
writeFileSync(file, JSON.stringify({ data_dir: 'data', networks: { sepolia: { url: 'ws://127.0.0.1:1', xpub } } }));
test.after(() => rmSync(folder, { recursive: true }));

const KEY = 'test:ethereum';
const run = (...words: string[]) => runQuayside(['payouts', 'limits', ...words], { QUAYSIDE_CONFIG: file });
async function answer(...words: string[]) {
  const { code, out, err } = await runQuayside([...words, '--json'], { QUAYSIDE_CONFIG: file });
  assert.is(code, 0, `quayside ${words.join(' ')}: ${err}`);
  return JSON.parse(out);
}

test('a limit is set for a network or a store, shown everywhere, and taken off again', async () => {
  const { id } = await answer('store', 'create', 'Shop');
  assert.match((await run()).out, /no limits are set/);
  const tried = await run(KEY, '--hour', '500', '--day-count', '20', '--because', 'a look', '--dry-run');
  assert.match(tried.out, /would be changed to:\n.*of 500\.00, 0 payouts.*0\.00, 0 of 20 payouts/);
  assert.match((await run()).out, /no limits are set/);
  await answer('payouts', 'limits', KEY, '--hour', '500', '--day-count', '20', '--because', 'a look');
  await answer('payouts', 'limits', '--store', id, '--day', '75.50', '--because', 'a look');
  const [network, store] = await answer('payouts', 'limits');
  assert.equal([network.network, network.hour, network.day, network.day_count], [KEY, '500.00', null, 20]);
  assert.equal([store.store, store.day, store.spent.length], [id, '75.50', 2]);
  assert.equal((await answer('status')).payouts.limits, [network, store]);
  assert.is((await answer('store', 'update', id)).payout_limit.day, '75.50');
  assert.match(
    (await runQuayside(['store', 'update', id], { QUAYSIDE_CONFIG: file })).out,
    /live +last hour: 0\.00, 0 payouts/,
  );
  const raised = await answer('payouts', 'limits', KEY, '--hour', 'none', '--because', 'a look');
  assert.equal([raised.hour, raised.day_count, raised.before.hour], [null, 20, '500.00']);
  await answer('payouts', 'limits', KEY, '--day-count', 'none', '--because', 'a look');
  assert.equal((await answer('payouts', 'limits')).length, 1);
  const [entry] = await answer('audit', 'list');
  assert.equal([entry.command, entry.target], ['payouts limits', `network:${KEY}`]);
});

test('a limit needs a reason, a scope, and amounts that exist', async () => {
  const codes = [
    await run(KEY, '--hour', '5'),
    await run('--hour', '5', '--because', 'x'),
    await run('test:other', '--hour', '5', '--because', 'x'),
    await run('--store', 'nobody', '--hour', '5', '--because', 'x'),
    await run(KEY, '--hour', '5.005', '--because', 'x'),
    await run(KEY, '--hour', '-5', '--because', 'x'),
    await run(KEY, '--hour-count', '1.5', '--because', 'x'),
  ].map(({ code }) => code);
  assert.equal(codes, [2, 2, 3, 3, 2, 2, 2]);
});

test.run();
