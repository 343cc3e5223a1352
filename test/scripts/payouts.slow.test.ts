/**
 * The commands about payouts and the ledger, with a real signer process.
 */

import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';
import { openSigner } from '../../src/signer/client.ts';
import { openPayingInstallation } from '../support/paying-installation.ts';
import { endSigners, makeSignerPlace, startSigner } from '../support/signer-process.ts';
import { firstOf, refundOf } from '../support/temp-signer.ts';

const NETWORK = 'test:one';
const place = makeSignerPlace();
const { database, databaseFile, run, answer, close } = openPayingInstallation({ signerDir: place.dir });
test.after(() => {
  close();
  endSigners();
  place.remove();
});

test('a restored database adopts what was signed since, and shows every attempt', async () => {
  const signing = startSigner(place.args);
  assert.ok(await signing.ready, signing.output());
  const signer = openSigner({ socket: place.socket, timeoutMs: 20_000 });
  const intent = refundOf('rf_lost', 12_500_000n);
  const { tx } = await signer.sign(firstOf(intent, 4, { fence: 3 }));
  await signer.close();

  assert.is((await run('payout', 'reconcile', 'test:none')).code, 3);
  const nothing = { network: NETWORK, dry_run: false, unexplained: [], settled: [], still_frozen: [] };
  assert.equal(await answer('payout', 'reconcile', NETWORK), { ...nothing, signatures: 1, added: 1 });
  assert.equal(await answer('payout', 'reconcile', NETWORK), { ...nothing, signatures: 1, added: 0 });
  const [listed] = await answer('payout', 'list', '--state', 'sent', '--network', NETWORK, '--kind', 'refund');
  assert.equal([listed.id, listed.amount, listed.state], ['rf_lost', '12.50 USDT', 'sent']);
  const shown = await answer('show', 'rf_lost');
  assert.equal(
    shown.attempts.map((one: Record<string, unknown>) => [one.transaction_hash, one.number, one.sent_at]),
    [[tx, 4, null]],
  );
  const { out } = await run('show', 'rf_lost');
  assert.match(out, tx);
  assert.is((await run('show', 'rf_none')).code, 3);
  assert.is(await database.engines.nextFence(NETWORK, 3), 4, 'the engine may sign again');
  signing.kill('SIGTERM');
  await signing.ended;
});

test('a stuck payout and the freeze for it are shown, and the payout is looked at again', async () => {
  const name = { id: 'rf_lost', generation: 0 };
  const why = { code: 'payout_nonce_foreign', message: 'its number was used up' };
  await database.payouts.stick({ ...name, why, freezes: true, nowMs: systemClock.nowMs() });
  await database.engines.report(NETWORK, { code: 'signer_unreachable', message: 'nobody listens' });
  const { payouts } = await answer('status');
  assert.equal([payouts.open, payouts.waiting[0].reason], [1, 'payout_nonce_foreign']);
  assert.is(payouts.frozen[0].code, 'payout_nonce_foreign');
  assert.is(payouts.engines[0].reason.code, 'signer_unreachable');
  const { out } = await run('status');
  assert.match(out, 'payouts on test:one are stopped: signer_unreachable');
  const nowMs = systemClock.nowMs();
  const act = { atMs: nowMs, operator: 'anna', command: 'payout resolve', reason: 'it is mended' };
  const seen = { state: 'stuck', generation: 0, attemptCount: 1 } as const;
  const about = { id: 'rf_lost', seen, conclusion: { kind: 'look' }, act, nowMs } as const;
  assert.is(await database.payouts.conclude(about), true);
  assert.is((await database.payouts.find('rf_lost'))?.state, 'sent');
  assert.is(await database.payouts.conclude(about), false, 'it is not stuck any more');
  const reason = ['--reason', 'it is mended'];
  assert.is((await run('payout', 'resolve', 'rf_none', '--retry', ...reason)).code, 3);
  assert.is((await run('payout', 'resolve', 'rf_lost', '--retry', '--never', ...reason)).code, 2);
});

test('the ledger is verified, and an altered posting is found', async () => {
  await database.payouts.recordSent({
    id: 'rf_lost',
    generation: 0,
    attempt: 0,
    answerCode: 'accepted',
    answer: 'accepted',
    refusal: null,
    nowMs: 0,
  });
  const [{ tx } = { tx: '' }] = await database.payouts.attempts('rf_lost');
  const ended = { tx: tx ?? '', feeUnits: 21n * 10n ** 14n };
  await database.payouts.settle({ id: 'rf_lost', generation: 0, outcome: { kind: 'succeeded', ended }, nowMs: 0 });
  const sound = await answer('ledger', 'verify');
  assert.equal([sound.balanced, sound.entries, sound.problems], [true, 2, []]);
  const { out } = await run('ledger', 'verify');
  assert.match(out, '-12.50 USDT');
  assert.match(out, '0.0021 ETH');

  const raw = new Sqlite(databaseFile);
  raw.prepare(`UPDATE ledger_postings SET units = '7' WHERE account = 'unclaimed'`).run();
  raw.close();
  const bad = await run('ledger', 'verify', '--json');
  assert.is(bad.code, 1);
  const { balanced, problems } = JSON.parse(bad.out);
  assert.is(balanced, false);
  assert.is(problems.length, 2, 'the unbalanced entry and the wrong account');
  const { books } = await database.audit.latestProofs();
  assert.equal([books.proved?.about, books.failed?.ok], ['2 entries add up and match the facts', false]);
});

test.run();
