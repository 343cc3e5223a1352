/** The engine's steps when the signer's policy names another refund wallet, at each step of a payout. */
import * as assert from 'uvu/assert';
import { createPayoutWallets } from '../../../indexers/payouts/wallets.ts';
import { chains } from '../../../src/chains/index.ts';
import { transient } from '../../../src/core/fault.ts';
import type { PayingSigner } from '../../../src/signer/client.ts';
import { keyOf, tokens } from '../../sim/payout-signer.ts';
import { refundIntent } from '../../support/intents.ts';
import { faultOf } from '../../support/refusal.ts';
import { type Bench, benchTests, network, untilSettled } from './engine-bench.ts';

const [first, second] = [0, 1].map((index) => keyOf({ role: 'refund', index })) as [string, string];

/** Which wallets have paid, by the blocks of the chain. */
const paidBy = ({ chain }: Bench) =>
  chain.blocks().flatMap((block) => block.flatMap(({ payer, paid }) => (paid ? [payer] : [])));
const payersOf = async ({ database }: Bench, id: string) =>
  (await database.payouts.attempts(id)).map(({ generation, attempt, payer }) => [generation, attempt, payer]);
const current = async ({ database }: Bench) =>
  (await database.wallets.balances()).filter(({ role }) => role === 'refund').map(({ key }) => key);

const test = benchTests();

test('payouts before and after a change of the wallet are each paid once, by the wallet that paid then', async (bench) => {
  await bench.plan('r1');
  await untilSettled(bench, 'r1');
  bench.useWallet(1);
  await bench.plan('r2');
  await untilSettled(bench, 'r2');
  assert.equal(paidBy(bench), [first, second]);
  assert.equal(await payersOf(bench, 'r1'), [[0, 0, first]]);
  assert.equal(await payersOf(bench, 'r2'), [[0, 0, second]]);
  for (let n = 0; n < 8; n++) await bench.pass();
  assert.equal(await current(bench), [second]);
  const watched = (await bench.database.wallets.listOwn(network)).map(({ key }) => key);
  assert.ok([first, second].every((key) => watched.includes(key)));
});

test('a refund whose lock another wallet has set says which wallet the policy must name again', async () => {
  const signer = {
    wallets: async () => ({ refund: second, gas: first, treasury: first, feeUnitsMax: 0n }),
    refundLock: async () => 'aa',
  } as unknown as PayingSigner;
  const rules = chains.solana.spendRules;
  const wallets = createPayoutWallets({ network, tokens, rules, signer });
  const intent = refundIntent({ id: 'r1', network });
  assert.is((await wallets.draft(intent)).lock, 'aa');
  const fault = await faultOf(wallets.draft(intent, { payer: first }));
  assert.is(fault.code, 'signer_refused_wallet');
  assert.match(fault.message, first);
});

test('the answer to a signature is lost, and another wallet pays: the signed bytes are used, and nothing else', async (bench) => {
  await bench.plan('r1');
  let signs = 0;
  bench.instead.signer.sign = async (request) => {
    await bench.own.signer.sign(request);
    signs += 1;
    throw transient('signer_unreachable', 'the answer was lost');
  };
  for (let n = 0; n < 3; n++) await bench.pass();
  assert.ok(signs > 0);
  bench.useWallet(1);
  bench.instead.signer = {};
  await untilSettled(bench, 'r1');
  assert.equal(paidBy(bench), [first]);
  assert.equal(await payersOf(bench, 'r1'), [[0, 0, first]]);
});

test('an attempt is allotted but not signed, and another wallet pays: it is withdrawn, and the next wallet pays', async (bench) => {
  bench.instead.signer.sign = async () => {
    throw transient('signer_unreachable', 'it is restarted');
  };
  await bench.plan('r1');
  await bench.pass();
  assert.equal(await payersOf(bench, 'r1'), [[0, 0, first]]);
  bench.useWallet(1);
  bench.instead.signer = {};
  await untilSettled(bench, 'r1');
  assert.equal(paidBy(bench), [second]);
  assert.equal(await payersOf(bench, 'r1'), [[0, 0, second]]);
  assert.equal(await bench.database.holds.list(), []);
});

test.run();
