/** `quayside payout freeze` and `thaw`. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openToolBench } from '../support/tool-bench.ts';

const { run, answer, database, network, close } = await openToolBench();
const KEY = network.key;
test.after(close);
const frozen = async () =>
  (await answer('status')).payouts.frozen.map((one: { network: string | null; reason: string }) => [
    one.network,
    one.reason,
  ]);

test('a network is named by its key, or by its name alone', async () => {
  const { id } = await answer('payout', 'freeze', 'ethereum', '--reason', 'x', '--dry-run');
  assert.is(id, KEY);
  const { code, err } = await run('payout', 'reconcile', 'ethereum');
  assert.equal([code, /has no `signer`/.test(err)], [1, true], err);
  assert.match((await run('payout', 'reconcile', 'tron')).err, 'there is no network "tron"; configured: test:ethereum');
});

test('a freeze needs a reason and a network that exists, and a dry run changes nothing', async () => {
  assert.is((await run('payout', 'freeze')).code, 2);
  assert.is((await run('payout', 'freeze', 'test:other', '--reason', 'x')).code, 3);
  assert.is((await run('payout', 'freeze', KEY, 'more', '--reason', 'x')).code, 2);
  assert.is((await run('payout', 'thaw', '--reason', 'x')).code, 3);
  const tried = await answer('payout', 'freeze', '--reason', 'x', '--dry-run');
  assert.equal(tried, { id: 'every network', dry_run: true });
  assert.equal(await frozen(), []);
});

test('freezes are shown with their reason, ended by their own name, and recorded', async () => {
  assert.is((await answer('payout', 'freeze', KEY, '--reason', 'a key was lost')).changed, true);
  assert.is((await answer('payout', 'freeze', KEY, '--reason', 'again')).changed, false);
  await answer('payout', 'freeze', '--reason', 'all of it');
  assert.equal(await frozen(), [
    [null, 'all of it'],
    [KEY, 'a key was lost'],
  ]);
  assert.match((await run('status')).out, /money out is FROZEN: test:ethereum, by .+ since .+: a key was lost/);
  assert.equal((await answer('payout', 'thaw', '--reason', 'found', '--dry-run')).still_frozen, [null, KEY]);
  assert.equal((await answer('payout', 'thaw', '--reason', 'found')).still_frozen, [KEY]);
  assert.equal(await frozen(), [[KEY, 'a key was lost']]);
  assert.equal((await answer('payout', 'thaw', KEY, '--reason', 'found')).still_frozen, []);
  assert.equal(await frozen(), []);
  const audit = await answer('audit', 'list');
  assert.equal(
    audit
      .slice(0, 4)
      .map((one: { command: string; target: string; reason: string }) => [one.command, one.target, one.reason]),
    [
      ['payout thaw', KEY, 'found'],
      ['payout thaw', 'every network', 'found'],
      ['payout freeze', 'every network', 'all of it'],
      ['payout freeze', KEY, 'a key was lost'],
    ],
  );
});

test('what the program froze by itself is ended by `payout reconcile` alone', async () => {
  const stolen = { network: KEY, code: 'wallet_outflow_foreign', reason: 'money left', frozenBy: 'quayside' } as const;
  await database.holds.freeze({ ...stolen, sinceMs: 5 }, null);
  const refused = await run('payout', 'thaw', KEY, '--reason', 'it is done');
  assert.is(refused.code, 1);
  assert.match(refused.err, /since .*: money left. `quayside payout reconcile test:ethereum --reason …` ends that/);
  await answer('payout', 'freeze', KEY, '--reason', 'maintenance');
  const { out, code } = await run('payout', 'thaw', KEY, '--reason', 'it is done');
  assert.is(code, 1, 'the network stays frozen');
  assert.match(out, /The freeze is ended\.[\s\S]*still frozen: .*money left. `quayside payout reconcile/);
  assert.equal(await frozen(), [[KEY, 'money left']]);
});

test.run();
