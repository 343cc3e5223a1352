/**
 * Rotation of the refund and gas wallets on any family: refunds asked before, meanwhile and afterwards are each paid
 * once, what the former wallets hold is moved, and a machine put back to before the rotation pays nothing twice.
 * @module
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Json } from '../support/instance.ts';
import type { PayoutShop } from '../support/payout-shop.ts';
import { find } from '../support/quayside-process.ts';
import { until } from '../support/until.ts';

export type RotationTraits = Readonly<{
  /** Coins that a refund wallet needs. */
  coins: number;
  /** The most base units of the native coin that stay in a wallet which is emptied. */
  staysMax: bigint;
  /** Whether the gas wallet is rotated too. */
  rotatesGas?: boolean;
  /** Lets the chain go on to a time, if the engine waits for that. */
  pass?(untilMs: number): void;
}>;

const because = ['--because', 'a laptop was stolen'] as const;

/** Registers the suite; `closeBooks` runs it. */
export function rotationConforms(bench: PayoutShop, traits: RotationTraits): void {
  const { coins, staysMax, rotatesGas = false, pass } = traits;
  const { chain, quayside, network, walletKey, paidSession, refund, completed, untilWaiting, untilUnlocked } = bench;
  const units = (cents: number) => bench.unitsOf(cents, 'USDT');
  const [first, second, third] = [0, 1, 2].map((index) => walletKey({ role: 'refund', index })) as [
    string,
    string,
    string,
  ];
  test.after(() => bench.close());

  /** What each of the wallets has paid to a payee. */
  const paidBy = (payee: string) =>
    Promise.all([first, second, third].map((wallet) => chain.paid(wallet, payee, 'USDT')));
  const restart = async () => {
    await quayside.stop();
    await quayside.start();
  };
  const wallets = async (): Promise<Json[]> =>
    (await quayside.cli('wallet', 'list')).filter((one: Json) => one.role === 'refund');
  const untilPays = (wallet: string) =>
    until('the engine has learned which wallet pays', async () =>
      (await wallets()).some((one) => !one.former && one.address === bench.format(wallet)),
    );
  const [firstGas, secondGas] = [0, 1].map((index) => walletKey({ role: 'gas', index })) as [string, string];
  const rotate = (role = 'refund') => quayside.cli('wallet', 'rotate', role, network, ...because);
  const empty = (role = 'refund') => quayside.cli('wallet', 'empty', role, network, ...because);
  const isEmpty = async (wallet: string) => {
    const left = await chain.coins(wallet);
    assert.ok(left <= staysMax, `${left} of the native coin stay in ${wallet}, of at most ${staysMax}`);
  };
  const moves = (): Promise<Json[]> => quayside.cli('payouts', 'list', '--kind', 'move');
  const untilMoved = () =>
    until('the moves have ended', async () => (await moves()).every(({ state }) => state === 'succeeded'));

  test('refunds before, meanwhile and after a rotation are each paid once, by the wallet that has to', async () => {
    await chain.fund(first, coins);
    await chain.pay(first, 'USDT', units(2_000));
    const before = await refund(await paidSession(500), '5.00');
    await completed(before.id);
    assert.equal(await paidBy(before.payee), [[units(500)], [], []]);

    const during = await refund(await paidSession(600), '6.00');
    const [done] = await rotate();
    assert.equal([done.before, done.after, done.to, done.changed], [0, 1, bench.format(second), true]);
    const [again] = await rotate();
    assert.equal([again.after, again.changed], [1, false], 'the command is repeated without another step');
    if (rotatesGas) {
      for (const wallet of [firstGas, secondGas]) await chain.fund(wallet, coins);
      assert.is((await rotate('gas'))[0].to, bench.format(secondGas));
    }
    await chain.fund(second, coins);
    await chain.pay(second, 'USDT', units(600));
    await restart();
    await untilPays(second);
    await completed(during.id);
    const paid = (await paidBy(during.payee)).flat();
    assert.equal(paid, [units(600)], 'whichever of the two wallets has signed it first');

    const after = await refund(await paidSession(700), '7.00');
    const shortOrDone = async () => {
      const { waiting } = (await quayside.cli('status')).payouts;
      return waiting.some((one: Json) => one.reason === 'token_short');
    };
    if (paid.length === 1 && (await chain.held(second, 'USDT')) < units(700)) {
      await until('the new wallet is short', shortOrDone);
      assert.equal((await paidBy(after.payee)).flat(), [], 'the former wallet pays nothing new');
    }
    const emptied = await empty();
    assert.ok(emptied.planned.length >= 1, JSON.stringify(emptied));
    await untilMoved();
    assert.is(await chain.held(first, 'USDT'), 0n);
    assert.equal([emptied.planned.length, emptied.notes, emptied.stays.length], [2, [], 1], JSON.stringify(emptied));
    await isEmpty(first);
    await completed(after.id);
    assert.equal(await paidBy(after.payee), [[], [units(700)], []]);
  });

  async function checkGasWallets(): Promise<void> {
    const before = await Promise.all([firstGas, secondGas].map(chain.coins));
    await until('the payments are final', async () => (await quayside.cli('sweep', 'status'))[0].unswept.length > 0);
    const { sweeps } = await quayside.cli('sweep', 'run', '--yes', '--min', '1.00');
    assert.ok(sweeps.length > 0 && sweeps.every(({ state }: Json) => state === 'succeeded'), JSON.stringify(sweeps));
    const after = await Promise.all([firstGas, secondGas].map(chain.coins));
    assert.is(after[0], before[0], 'the former wallet gives nothing any more');
    assert.ok((after[1] ?? 0n) < (before[1] ?? 0n), 'the next one gave the gas');
    const { planned, notes } = await empty('gas');
    assert.equal([planned.length, notes], [1, []]);
    await untilMoved();
    await isEmpty(firstGas);
  }
  if (rotatesGas)
    test(
      'after a rotation the next gas wallet pays for sweeps, and what the former one holds is moved',
      checkGasWallets,
    );

  test('the former wallet is shown and watched, the rotation is in the audit log, and the books balance', async () => {
    const shown = (await wallets()).map(({ address, former }) => [address, former]);
    assert.equal(shown, [
      [bench.format(second), false],
      [bench.format(first), true],
    ]);
    const { payouts } = await quayside.cli('status');
    assert.equal([payouts.frozen, payouts.halted_wallets], [[], []]);
    const entries: Json[] = await quayside.cli('audit', 'list');
    const rotations = entries.filter(
      ({ command, target }) => command === 'wallet rotate' && target.endsWith(' refund'),
    );
    assert.is(rotations.length, 2, 'of the operator, and of the engine that followed');
    assert.ok((await quayside.cli('ledger', 'verify')).balanced);
  });

  test('a machine that is put back to before a rotation pays no refund again that the next wallet has paid', async () => {
    const held = await chain.held(second, 'USDT');
    const cents = Number(held / units(1)) + 500;
    const { id, payee } = await refund(await paidSession(cents), (cents / 100).toFixed(2));
    await untilWaiting('token_short');
    const putBack = await bench.snapshot();
    await untilUnlocked();
    await rotate();
    await restart();
    await untilPays(third);
    await chain.fund(third, coins);
    await chain.pay(third, 'USDT', units(cents));
    const { transaction_hash: tx } = await completed(id);
    assert.equal(await paidBy(payee), [[], [], [units(cents)]]);
    const before = (await moves()).length;
    const { planned } = await empty();
    await untilMoved();
    const emptied = await moves();
    await quayside.stop();
    putBack();
    await chain.pay(second, 'USDT', units(cents));
    await quayside.start();
    const done = await find('it is settled', async () => {
      if (pass) await bench.passAwaited(pass);
      const shown = await bench.show(id);
      return shown.status === 'completed' && shown;
    });
    assert.is(done.transaction_hash, tx);
    assert.equal(await paidBy(payee), [[], [], [units(cents)]]);
    // What was moved meanwhile is entered, with what it cost, and stops nothing.
    await until('the moves are known again', async () => (await moves()).length === before + planned.length);
    const known = (some: readonly Json[]) => some.map((one) => [one.state, one.transaction_hash, one.fee]).sort();
    assert.equal(known(await moves()), known(emptied));
    const { payouts } = await quayside.cli('status');
    assert.equal([payouts.frozen, payouts.halted_wallets], [[], []]);
    assert.ok((await quayside.cli('ledger', 'verify')).balanced);
  });
}
