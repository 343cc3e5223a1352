/**
 * `payout resolve` and `payout reconcile` on a real node, with a real signer: what was paid is settled, what was not is
 * ended, and after database and signer were both put back to an earlier state nothing is paid a second time.
 */

import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Wallet } from 'ethers';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evmSpending } from '../../src/chains/evm/spend.ts';
import type { RefundIntent } from '../../src/core/intent.ts';
import type { Payout } from '../../src/core/payout.ts';
import type { Database } from '../../src/database/database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openSigner } from '../../src/signer/client.ts';
import { type Anvil, startAnvil } from '../support/anvil.ts';
import { deployToken, type TokenContract } from '../support/contracts.ts';
import { counted } from '../support/nonces.ts';
import { endAll } from '../support/processes.ts';
import { makeSignerPlace, type SignerPlace, type SignerProcess, startSigner } from '../support/signer-process.ts';
import { firstOf, policySettings, refundOf, seed, terms } from '../support/temp-signer.ts';
import { openPayingInstallation } from './paying-installation.ts';

const NETWORK = 'test:one';
const CHAIN_ID = 31337;
const FINAL_BLOCKS = 6;
const UNITS = 12_500_000n;
const PAYEE = 'b'.repeat(40);
const { key: payer, secret } = evmSpending.derive(seed, { role: 'refund' });
const owner = new Wallet(`0x${Buffer.from(secret).toString('hex')}`);

const backup = mkdtempSync(join(tmpdir(), 'quayside-exits-'));
const nowMs = systemClock.nowMs();
let anvil: Anvil;
let usdt: TokenContract;
let place: SignerPlace;
let signing: SignerProcess;
let own: ReturnType<typeof openPayingInstallation>;
let database: Database;

test.before(async () => {
  anvil = await startAnvil({ chainId: CHAIN_ID, slotsInAnEpoch: 1 });
  usdt = await deployToken(anvil, { symbol: 'USDT', decimals: 6 });
  await anvil.give(`0x${payer}`, 10n ** 18n);
  await usdt.transfer(`0x${payer}`, 1_000_000_000n);
  await anvil.mine();
  const tokens = [{ symbol: 'USDT' as const, address: usdt.address, decimals: 6 }];
  const known = policySettings.networks[NETWORK];
  assert.ok(known);
  place = makeSignerPlace({ ...policySettings, networks: { [NETWORK]: { ...known, tokens } } });
  cpSync(place.dir, join(backup, 'signer'), { recursive: true });
  own = openPayingInstallation({ url: anvil.wsUrl, tokens, signerDir: place.dir });
  database = own.database;
  await database.engines.nextFence(NETWORK, 0);
  assert.equal(await database.payouts.offerNonce(NETWORK, payer, counted(0), nowMs), { kind: 'free', nonce: 0 });
  await startSigning();
});

test.after(async () => {
  own?.close();
  await endAll('SIGKILL');
  await anvil?.close();
  place?.remove();
  rmSync(backup, { recursive: true, force: true });
});

async function startSigning(): Promise<void> {
  signing = startSigner(place.args);
  assert.ok(await signing.ready, signing.output());
}

const run = (...words: string[]) => own.run(...words);
const answer = (...words: string[]) => own.answer(...words);
const because = ['--reason', 'a test'];
/** Runs a command that must fail, and returns what it says. */
async function refusal(code: number, ...words: string[]): Promise<string> {
  const done = await run(...words);
  assert.is(done.code, code, `${words.join(' ')}: ${done.out}${done.err}`);
  return done.err;
}
async function payoutOf(id: string): Promise<Payout> {
  const payout = await database.payouts.find(id);
  assert.ok(payout, id);
  return payout;
}
const stateOf = async (id: string) => (await payoutOf(id)).state;

async function plan(id: string, units = UNITS): Promise<RefundIntent> {
  const intent = refundOf(id, units);
  await database.payouts.plan([{ intent, sessionId: null, servesId: null, notBeforeMs: nowMs, nowMs }]);
  return intent;
}

type Wish = Readonly<{ to: string; data?: string }>;

/** Sends a transaction with the wallet's own key from elsewhere, in a block that is not final. */
async function sendElsewhere(nonce: number, wish: Wish): Promise<string> {
  const fees = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n };
  const order = { type: 2, chainId: CHAIN_ID, nonce, value: 0n, gasLimit: 100_000n, ...fees, ...wish };
  const tx = await anvil.sendRaw(await owner.signTransaction(order));
  await anvil.mine(1);
  return tx;
}

/** Does so, and makes it final. */
async function spendElsewhere(nonce: number, wish: Wish): Promise<string> {
  const tx = await sendElsewhere(nonce, wish);
  await anvil.mine(FINAL_BLOCKS - 1);
  return tx;
}
const nothing = { to: `0x${'cc'.repeat(20)}` };
const payment = (units = UNITS) => ({
  to: usdt.address,
  data: `0xa9059cbb${PAYEE.padStart(64, '0')}${units.toString(16).padStart(64, '0')}`,
});

/** Has an attempt signed and recorded, as the engine does; it is not broadcast. */
async function signHere(intent: RefundIntent, nonce: number): Promise<string> {
  const { id } = intent;
  const own = { id, generation: 0, attempt: 0, intent, payer, payerRole: 'refund', nonce } as const;
  const allotted = await database.payouts.allot({ ...own, terms: terms(nonce), feeUnitsMax: 1n, nowMs });
  assert.is(allotted.kind, 'allotted');
  const signer = openSigner({ socket: place.socket, timeoutMs: 20_000 });
  const { tx } = await signer.sign(firstOf(intent, nonce));
  const known = (await database.engines.list()).find((engine) => engine.network === NETWORK)?.journalId ?? 0;
  const recorded = await database.payouts.recordSigned(NETWORK, await signer.journal(NETWORK, known, 10));
  await signer.close();
  assert.is(recorded, null);
  await database.payouts.recordSent({
    id,
    generation: 0,
    attempt: 0,
    answerCode: 'accepted',
    answer: 'accepted',
    refusal: null,
    nowMs,
  });
  return tx;
}

/** Does what the engine does once another transaction has used the nonce of an attempt. */
async function stickForNonce(id: string): Promise<void> {
  const why = { code: 'payout_nonce_foreign', message: 'its nonce was used' };
  await database.payouts.stick({ id, generation: 0, why, freezes: true, nowMs });
}

/** Reconciles the network, and lets it settle in as its engine does. */
async function reconcile(...flags: string[]) {
  const said = await answer('payout', 'reconcile', NETWORK, ...flags, ...because, '--yes');
  await database.engines.settle(NETWORK, null);
  return said;
}

test('after a rollback of database and signer, `payout reconcile` settles what was paid, and pays nothing again', async () => {
  const intent = await plan('rf_lost');
  const signer = openSigner({ socket: place.socket, timeoutMs: 20_000 });
  const { tx } = await signer.sign(firstOf(intent, 0));
  const [entry] = await signer.journal(NETWORK, 0, 1);
  await signer.close();
  await anvil.sendRaw(`0x${Buffer.from(entry?.bytes ?? []).toString('hex')}`);
  await anvil.mine(FINAL_BLOCKS);
  // The database never had the attempt; the signer's folder is put back to before it.
  signing.kill('SIGKILL');
  await signing.ended;
  rmSync(place.dir, { recursive: true });
  cpSync(join(backup, 'signer'), place.dir, { recursive: true });
  chmodSync(place.dir, 0o700);
  await startSigning();
  await database.payouts.offerNonce(NETWORK, payer, counted(1), nowMs);
  assert.is((await database.holds.find(NETWORK))?.code, 'payout_nonce_foreign');

  const settled = [{ id: 'rf_lost', tx }];
  assert.equal((await answer('payout', 'reconcile', NETWORK, '--tx', tx, '--dry-run')).settled, settled);
  assert.is(await stateOf('rf_lost'), 'waiting');
  const done = await reconcile('--tx', tx);
  assert.equal([done.settled, done.still_frozen, await database.holds.list()], [settled, [], []]);
  const payout = await payoutOf('rf_lost');
  assert.equal({ state: payout.state, tx: payout.tx }, { state: 'succeeded', tx });
  assert.ok((payout.feeUnits ?? 0n) > 0n, 'with what it cost');
  assert.equal(await database.payouts.open(NETWORK, nowMs + 1e9, 10), [], 'nothing is left to pay');
  assert.equal(await database.payouts.offerNonce(NETWORK, payer, counted(1), nowMs), { kind: 'free', nonce: 1 });
  assert.is(await usdt.balanceOf(`0x${PAYEE}`), UNITS);
});

test('nonces that no payout explains are shown, and the wallet goes on after them only with a yes', async () => {
  await plan('rf_two');
  await spendElsewhere(1, nothing);
  await database.payouts.offerNonce(NETWORK, payer, counted(2), nowMs);
  const said = await refusal(2, 'payout', 'reconcile', NETWORK, ...because);
  assert.match(said, /1 transactions of 0x/);
  const { out } = await run('payout', 'reconcile', NETWORK, '--dry-run');
  assert.match(out, /1 transactions of 0x/);
  assert.ok(out.trim().split(/\s+/).length < 120, `a frozen network is explained on one screen: ${out}`);
  assert.is((await database.holds.list()).length, 1);
  await reconcile();
  assert.equal([await stateOf('rf_two'), await database.holds.list()], ['waiting', []]);
  assert.equal(await database.payouts.offerNonce(NETWORK, payer, counted(2), nowMs), { kind: 'free', nonce: 2 });
});

test('a payout is settled by a transaction only if that is final, ours, exact, and no other payout’s', async () => {
  const first = (await payoutOf('rf_lost')).tx ?? '';
  assert.match(
    await refusal(1, 'payout', 'resolve', 'rf_two', '--paid', first, ...because),
    'attempt of payout rf_lost',
  );
  const other = await spendElsewhere(2, payment(UNITS - 1n));
  const wrong = await refusal(1, 'payout', 'resolve', 'rf_two', '--paid', other, ...because);
  assert.match(wrong, 'does not show that 12500000 units went to');
  const absent = `0x${'12'.repeat(32)}`;
  assert.match(await refusal(1, 'payout', 'resolve', 'rf_two', '--paid', absent, ...because), 'not a final');
  const paid = await sendElsewhere(3, payment());
  const early = await refusal(1, 'payout', 'resolve', 'rf_two', '--paid', paid, ...because);
  assert.match(early, /is not a final, successful transaction .* or wait until it is final/);
  assert.is(await stateOf('rf_two'), 'waiting');
  await anvil.mine(FINAL_BLOCKS - 1);
  assert.is((await run('payout', 'resolve', 'rf_two', '--paid', paid)).code, 2, 'without a reason');
  assert.is((await run('payout', 'resolve', 'rf_two', '--paid', paid, '--never', ...because)).code, 2);
  assert.is((await run('payout', 'resolve', 'rf_two', '--paid', 'nonsense', ...because)).code, 2);
  assert.is((await run('payout', 'resolve', 'rf_none', '--never', ...because)).code, 3);
  assert.is((await answer('payout', 'resolve', 'rf_two', '--paid', paid, ...because, '--dry-run')).dry_run, true);
  assert.is(await stateOf('rf_two'), 'waiting');
  assert.is((await answer('payout', 'resolve', 'rf_two', '--paid', paid, ...because)).resolved, 'paid');
  assert.equal([await stateOf('rf_two'), (await payoutOf('rf_two')).tx], ['succeeded', paid]);
  const [entry] = await answer('audit', 'list');
  assert.equal([entry.command, entry.target, entry.reason], ['payout resolve', 'rf_two', 'a test']);
  assert.match(await refusal(1, 'payout', 'resolve', 'rf_two', '--never', ...because), 'has ended');
});

test('a payout whose number was used by its own payment is neither ended nor signed again', async () => {
  await database.payouts.offerNonce(NETWORK, payer, counted(4), nowMs);
  await reconcile();
  await signHere(await plan('rf_paid', 7_000_000n), 4);
  const tx = await spendElsewhere(4, payment(7_000_000n));
  await stickForNonce('rf_paid');
  for (const wish of ['--never', '--retry']) {
    const said = await refusal(1, 'payout', 'resolve', 'rf_paid', wish, ...because);
    assert.match(said, 'payout rf_paid may have been paid: its nonce was used');
  }
  const { settled } = await reconcile('--tx', tx);
  assert.equal(settled, [{ id: 'rf_paid', tx }]);
  assert.equal((await database.ledger.verify()).problems, []);
});

test('a restored database adopts what was signed since, and shows it; status says why payouts are stopped', async () => {
  const signer = openSigner({ socket: place.socket, timeoutMs: 20_000 });
  const { tx } = await signer.sign(firstOf(refundOf('rf_since', UNITS), 5, { fence: 3 }));
  await signer.close();
  await database.engines.report(NETWORK, { code: 'payouts_not_adopted', message: 'it is older' });
  assert.match((await run('status')).out, 'payouts on test:one are stopped: payouts_not_adopted');
  assert.equal((await answer('payout', 'reconcile', NETWORK)).added, 1);
  assert.equal((await answer('payout', 'reconcile', NETWORK)).added, 0);
  const [listed] = await answer('payout', 'list', '--state', 'sent', '--network', NETWORK);
  assert.equal([listed.id, listed.amount, listed.state], ['rf_since', '12.50 USDT', 'sent']);
  const [attempt] = (await answer('show', 'rf_since')).attempts;
  assert.equal([attempt.transaction_hash, attempt.nonce, attempt.sent_at], [tx, 5, null]);
  assert.is((await run('show', 'rf_none')).code, 3);
  assert.is((await run('payout', 'reconcile', 'test:none')).code, 3);
  assert.is(await database.engines.nextFence(NETWORK, 3), 4, 'the engine may sign again');
});

test.run();
