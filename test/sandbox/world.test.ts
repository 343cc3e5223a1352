import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { isLinked } from '../../src/core/block.ts';
import { Fault } from '../../src/core/fault.ts';
import type { WorldBlock } from '../../src/sandbox/block-tree.ts';
import { type Payment, type PaymentKind, paymentKinds } from '../../src/sandbox/transaction.ts';
import { keepChoices } from '../simulated/replay.ts';
import { createWorld, type World, type WorldOptions } from '../simulated/world.ts';
import { handClock } from '../support/hand-clock.ts';
import { accountKey, usdcKey, usdtKey } from '../support/simulated-node.ts';

const payer = accountKey('payer');
const payee = accountKey('payee');

const open = (more: Partial<WorldOptions> = {}): World =>
  createWorld({
    seed: 'world test',
    clock: handClock(),
    tokens: [usdtKey, usdcKey],
    keyBytes: 20,
    finalityDistance: 64,
    ...more,
  });

const payment = (units: bigint, kind: PaymentKind = 'direct', token = usdtKey): Payment => ({
  kind,
  from: payer,
  outputs: [{ token, to: payee, units }],
});

/** Returns what the payee really received, as [transaction, index, units]. */
const received = (world: World) =>
  world
    .transfers()
    .filter(({ to }) => to === payee)
    .map(({ transactionId, index, units }) => [transactionId, index, units] as const);

const unitsReceived = (world: World) => received(world).map(([, , units]) => units);

const chainOf = (world: World): WorldBlock[] => [...world.canonical()];

function mineMany(world: World, count: number): void {
  for (let left = count; left > 0; left--) world.mine();
}

test('each kind of payment counts as what really moved', () => {
  const credited: Record<PaymentKind, bigint[]> = {
    direct: [1_000_000n],
    contract: [1_000_000n],
    failed: [],
    lookalike: [],
    fee: [998_000n],
    delegated: [1_000_000n],
  };
  for (const kind of paymentKinds) {
    const world = open();
    world.pay(payment(1_000_000n, kind));
    world.mine();
    assert.equal(unitsReceived(world), credited[kind], kind);
    assert.is(world.tip().transactions.length, 1, `${kind}: it is still in the block`);
  }
});

test('a reorg that keeps its transactions mines each again at another index', () => {
  for (let count = 1; count <= 6; count++) {
    const world = open({ seed: `kept ${count}` });
    for (let at = 0; at < count; at++) world.pay(payment(BigInt(at + 1)));
    world.mine();
    const before = new Map(received(world).map(([id, index, units]) => [id, { index, units }]));
    world.reorg({ depth: 1, keep: 'all' });
    const after = received(world);
    assert.is(after.length, count);
    for (const [id, index, units] of after) {
      assert.is(units, before.get(id)?.units);
      assert.is.not(index, before.get(id)?.index);
    }
  }
});

test('final blocks are not replaced unless that is requested', () => {
  const world = open({ finalityDistance: 3 });
  mineMany(world, 5);
  assert.is(world.finalized().number, 2);
  assert.throws(() => world.reorg({ depth: 4, keep: 'none' }), /block 2 is final/);
  const lost = world.finalized().hash;
  world.reorg({ depth: 4, keep: 'none', breakFinality: true });
  assert.is(world.finalized().number, 2);
  assert.is.not(world.finalized().hash, lost);
  world.finalize();
  assert.throws(() => world.reorg({ depth: 1, keep: 'none' }), /is final/);
  assert.throws(() => world.reorg({ depth: 9, keep: 'none', breakFinality: true }), /still kept, not 9/);
});

test('a reorg may return transactions to the pool, from where the next block takes them', () => {
  const world = open();
  const id = world.pay(payment(5n));
  const { hash } = world.mine();
  world.reorg({ depth: 1, keep: 'pending', blocks: 2 });
  assert.equal(received(world), []);
  assert.is(world.find(id), undefined);
  assert.equal(
    world.pending().map((waiting) => waiting.id),
    [id],
  );
  assert.is(world.byHash(hash)?.hash, hash, 'the replaced block is still known');
  assert.is(world.find(world.mine().transactions[0]?.id ?? '')?.block.number, 3);
  assert.equal(unitsReceived(world), [5n]);
});

test('a block that cannot be made durable is never seen', () => {
  let full = false;
  const record = () => {
    if (full) throw new Error('no space left on device');
  };
  const world = open({ record });
  const heard: number[] = [];
  world.onChange(({ added }) => heard.push(...added.map(({ number }) => number)));
  world.pay(payment(5n));
  full = true;
  assert.throws(() => world.mine(), /no space left/);
  assert.is(world.tip().number, 0);
  assert.is(world.pending().length, 1);
  full = false;
  world.mine();
  assert.equal(unitsReceived(world), [5n]);
  assert.equal(heard, [1]);
});

test('too many pending payments are refused', () => {
  const world = open();
  const fill = () => {
    for (let at = 0; at <= 10_000; at++) world.pay(payment(1n));
  };
  assert.throws(fill, (error: unknown) => error instanceof Fault && error.code === 'sandbox_full');
  mineMany(world, 5);
  assert.is(world.pending().length, 0);
  assert.is(received(world).length, 10_000);
});

test('below the window only a limited number of blocks with transactions is kept', () => {
  const world = open({ windowBlocks: 100, olderPaidBlocksMax: 10 });
  for (let number = 1; number <= 1000; number++) {
    if (number % 20 === 0) world.pay(payment(BigInt(number)));
    world.mine();
  }
  const chain = chainOf(world);
  assert.is(world.floor(), 900);
  assert.ok(isLinked(chain.filter(({ number }) => number >= 900)));
  assert.is(chain.filter(({ number }) => number >= 900).length, 101);
  assert.equal(
    chain.filter(({ number }) => number < 900).map(({ number }) => number),
    [0, 700, 720, 740, 760, 780, 800, 820, 840, 860, 880],
  );
  assert.is([...world.kept()].length, 112);
  assert.is(world.transfers().length, 16);
});

/** One action on a world; a reorg may be refused. */
type Act =
  | { kind: 'pay'; payment: PaymentKind; units: bigint; outputs: number }
  | { kind: 'mine'; noise: number }
  | { kind: 'reorg'; depth: number; blocks: number; keep: (typeof keepChoices)[number] }
  | { kind: 'wait'; ms: number };

const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('pay' as const),
      payment: fc.constantFrom(...paymentKinds),
      units: fc.bigInt(0n, 10n ** 30n),
      outputs: fc.integer({ min: 1, max: 3 }),
    }),
    fc.record({ kind: fc.constant('mine' as const), noise: fc.integer({ min: 0, max: 2 }) }),
    fc.record({
      kind: fc.constant('reorg' as const),
      depth: fc.integer({ min: 1, max: 6 }),
      blocks: fc.integer({ min: 1, max: 8 }),
      keep: fc.constantFrom(...keepChoices),
    }),
    fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 5000 }) }),
  ),
  { maxLength: 60 },
);

function perform(seed: string, script: readonly Act[], check: (world: World) => void = () => {}): World {
  const clock = handClock();
  const world = open({ seed, clock, windowBlocks: 16, olderPaidBlocksMax: 4, finalityDistance: 8 });
  for (const act of script) {
    if (act.kind === 'wait') clock.advance(act.ms);
    if (act.kind === 'mine') world.mine(act.noise);
    if (act.kind === 'pay') {
      const outputs = Array.from({ length: act.outputs }, () => ({ token: usdcKey, to: payee, units: act.units }));
      world.pay({ kind: act.payment, from: payer, outputs });
    }
    if (act.kind === 'reorg') {
      try {
        world.reorg(act);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
      }
    }
    check(world);
  }
  return world;
}

test('after any actions, the chain is linked, finality only rises, memory is bounded and every lookup agrees', () => {
  fc.assert(
    fc.property(fc.string(), acts, (seed, script) => {
      let finalNumber = 0;
      perform(seed, script, (world) => {
        const inWindow = chainOf(world).filter(({ number }) => number >= world.floor());
        assert.ok(isLinked(inWindow));
        assert.is(inWindow.at(-1), world.tip());
        assert.ok(world.finalized().number >= Math.min(finalNumber, world.tip().number));
        finalNumber = world.finalized().number;
        assert.ok(chainOf(world).length <= 16 + 4 + 2 + 8);
        for (const block of world.canonical()) {
          assert.is(world.byHash(block.hash), block);
          for (const [index, { id }] of block.transactions.entries()) assert.equal(world.find(id), { block, index });
        }
        const ids = chainOf(world).flatMap(({ transactions }) => transactions.map(({ id }) => id));
        assert.is(new Set(ids).size, ids.length, 'no transaction is included twice');
      });
    }),
    { numRuns: 150 },
  );
});

test('the same seed and actions make the same chain; another seed makes another', () => {
  fc.assert(
    fc.property(acts, (script) => {
      const hashes = (seed: string) => [...perform(seed, script).kept()].map(({ hash }) => hash);
      assert.equal(hashes('one'), hashes('one'));
      assert.is.not(hashes('one')[0], hashes('two')[0]);
    }),
    { numRuns: 50 },
  );
});

test.run();
