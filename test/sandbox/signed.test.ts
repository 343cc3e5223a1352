import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { digest } from '../../src/sandbox/digest.ts';
import type { Admit } from '../../src/sandbox/mempool.ts';
import type { SignedTransaction } from '../../src/sandbox/transaction.ts';
import { keepChoices } from '../simulated/replay.ts';
import { createWorld, type World, type WorldOptions } from '../simulated/world.ts';
import { handClock } from '../support/hand-clock.ts';
import { accountKey, usdcKey, usdtKey } from '../support/simulated-node.ts';

const wallet = accountKey('wallet');
const payee = accountKey('payee');

/** Sequence numbers without gaps, and a token balance that must suffice. */
const admit: Admit = ({ sender, entries, signed }, accounts) => {
  const next = accounts.sequence(sender);
  if ((signed.sequence ?? 0) !== next) return (signed.sequence ?? 0) < next ? 'drop' : 'wait';
  return entries.every(({ token, from, units }) => accounts.token(token, from) >= units) ? 'take' : 'fail';
};

const options: WorldOptions = {
  seed: 'signed test',
  clock: handClock(),
  tokens: [usdtKey, usdcKey],
  keyBytes: 20,
  finalityDistance: 64,
  admit,
};

const spend = (sequence: number, units: bigint, sender = wallet): SignedTransaction => ({
  id: digest('spend', sender, sequence, units.toString()),
  sender,
  target: usdtKey,
  succeeded: true,
  entries: [{ kind: 'transfer', token: usdtKey, from: sender, to: payee, units }],
  signed: { bytes: 'c0ffee', sequence, feeUnits: 10n },
});

/** A world in which the wallet holds 100 units of USDT and 1000 of native coin. */
function open(): World {
  const world = createWorld(options);
  world.pay({ kind: 'direct', from: payee, outputs: [{ token: usdtKey, to: wallet, units: 100n }] });
  world.fund(wallet, 1_000n);
  world.mine();
  return world;
}

const fees = (world: Pick<World, 'accounts'>) => 1_000n - world.accounts().native(wallet);

test('numbers are mined in order, whatever arrived first; a used one is dropped', () => {
  const world = open();
  world.submit(spend(2, 1n));
  world.submit(spend(1, 2n));
  assert.is(world.mine().transactions.length, 0);
  assert.is(world.pending().length, 2);
  world.submit(spend(0, 3n));
  assert.equal(
    world.mine().transactions.map(({ signed }) => signed?.sequence),
    [0, 1, 2],
  );
  world.submit(spend(1, 9n));
  assert.is(world.mine().transactions.length, 0);
  assert.is(world.pending().length, 0);
});

test('however blocks are replaced, numbers on the chain rise by one and no money is created', () => {
  const acts = fc.array(
    fc.oneof(
      fc.record({ act: fc.constant('spend' as const), units: fc.integer({ min: 1, max: 40 }) }),
      fc.record({ act: fc.constant('mine' as const) }),
      fc.record({
        act: fc.constant('reorg' as const),
        depth: fc.integer({ min: 1, max: 4 }),
        blocks: fc.integer({ min: 1, max: 5 }),
        keep: fc.constantFrom(...keepChoices),
      }),
    ),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(acts, (history) => {
      const world = open();
      for (let at = 0; at < 4; at++) world.mine();
      const floor = world.tip().number;
      let next = 0;
      for (const step of history) {
        if (step.act === 'mine') world.mine();
        else if (step.act === 'spend') world.submit(spend(next++, BigInt(step.units)));
        else if (step.depth <= world.tip().number - floor) world.reorg(step);
        const signed = [...world.canonical()].flatMap(({ transactions }) => transactions.filter((one) => one.signed));
        assert.equal(
          signed.map((one) => one.signed?.sequence),
          signed.map((_, at) => at),
        );
        const paid = signed.reduce(
          (sum, { succeeded, entries }) => sum + (succeeded ? (entries[0]?.units ?? 0n) : 0n),
          0n,
        );
        assert.ok(paid <= 100n);
        assert.is(world.accounts().token(usdtKey, wallet), 100n - paid);
        assert.is(fees(world), 10n * BigInt(signed.length));
        next = Math.max(
          world.accounts().sequence(wallet),
          ...world.pending().map((one) => (one.signed?.sequence ?? 0) + 1),
        );
      }
    }),
    { numRuns: 150 },
  );
});

test.run();
