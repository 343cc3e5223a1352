/** Two nodes of one chain, of which one lies: what payouts must survive on any family. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { PayoutNode } from '../../src/chains/spend.ts';
import { Fault } from '../../src/core/fault.ts';
import type { RefundIntent } from '../../src/core/intent.ts';
import { has } from '../support/fields.ts';
import { Failure, type Lie, startLiar } from '../support/liar.ts';
import { createRandom, type Random } from '../support/random.ts';
import type { Json } from '../support/recordings.ts';
import { faultOf } from '../support/refusal.ts';
import type { PayoutNodeBench, withClient } from './payout-bench.ts';
import type { Attempt, SeedWallets } from './seed-wallets.ts';

const SEED = process.env.SEED ?? '1';
const ROUNDS = 50;

/** A payout of 5 units of USDT. */
export type Lied = Readonly<{ wallets: SeedWallets; intent: RefundIntent; attempt: Attempt }>;

/** Returns an answer with one part of it replaced or left out. */
type Spoil = (value: unknown) => unknown;

/** @param substitutes what takes the place of a part */
function spoiler(substitutes: readonly unknown[], random: Random): Spoil {
  const substitute = () => substitutes[random.int(substitutes.length)];
  return function spoiled(value: unknown): unknown {
    if (typeof value !== 'object' || value === null || random.chance(0.15)) return substitute();
    const names = Object.keys(value);
    const name = names[random.int(Math.max(1, names.length))];
    if (name === undefined) return substitute();
    const copy = structuredClone(value) as Record<string, unknown>;
    if (random.chance(0.2)) delete copy[name];
    else copy[name] = spoiled(copy[name]);
    return copy;
  };
}

/** Opens clients of a node and of a liar before it. */
export async function openLied(
  bench: ReturnType<typeof withClient<PayoutNodeBench>>,
  node: Readonly<{ httpUrl: string; wsUrl: string }>,
) {
  const liar = await startLiar(node);
  const { open, mine, finalize, prepare, send } = bench;
  async function prepared(): Promise<Lied> {
    const wallets = await bench.openFundedWallets();
    const intent = wallets.refund('USDT', 5n);
    return { wallets, intent, attempt: await prepare(wallets, intent) };
  }
  test.before.each(liar.heal);
  test.after(async () => {
    await liar.close();
    await bench.close();
  });
  const outcomeOf = ({ wallets, intent, attempt }: Lied, of: PayoutNode) =>
    bench.outcomeOf(wallets, intent, [attempt], of);
  return {
    liar,
    prepared,
    outcomeOf,
    alone: open({ url: liar.httpUrl }),
    /** The liar is the witness, and the liar is the main node. */
    pairs: [open({ witnessUrl: liar.httpUrl }), open({ url: liar.httpUrl, witnessUrl: node.httpUrl })] as const,
    async paid(): Promise<Lied> {
      const lied = await prepared();
      await send(lied.attempt);
      await mine();
      await finalize();
      return lied;
    },
    /** Asserts that no outcome is determined. */
    async fails(lied: Lied, of: PayoutNode, code: string, what?: string): Promise<void> {
      const fault = await faultOf(outcomeOf(lied, of));
      has(fault, { kind: 'transient', code }, what ?? fault.message);
    },
  };
}

type LyingFamily = Readonly<{
  /** Contradicts what the honest node says of a payout, whose transaction may no longer be included. */
  contradiction(lied: Lied): Lie | Promise<Lie>;
  /** Answers that make a witness useless, each with the code that says so. */
  useless: readonly (readonly [code: string, lie: Lie])[];
  /** Where the logs of a transaction are answered, how they are named there, and what is before their digits. */
  logs: Readonly<{ call: RegExp; name: string; prefix: string; otherToken: string }>;
  substitutes: readonly unknown[];
  /** Payouts with what honest nodes say about them. */
  scenes(): Promise<readonly (readonly [lied: Lied, truth: string])[]>;
  lieAtRandom(random: Random, spoiled: Spoil, lied: Lied): Lie;
  /** Outcomes and codes that are among those of random lies. */
  expected: readonly string[];
  /** The share of what a liar leaves as it is. */
  honesty: number;
}>;

/** Registers the tests of one family. */
export function liedPayouts(family: LyingFamily, opened: Awaited<ReturnType<typeof openLied>>): void {
  const { liar, alone, pairs, prepared, paid, outcomeOf, fails } = opened;

  test('nodes that contradict each other determine nothing', async () => {
    const lied = await paid();
    liar.tell(await family.contradiction(lied));
    for (const pair of pairs) await fails(lied, pair, 'payout_nodes_disagree');
  });

  test('a witness that is silent, of another chain, or shows other blocks determines nothing', async () => {
    const lied = await paid();
    for (const [code, lie] of family.useless) {
      liar.tell(lie);
      await fails(lied, pairs[0], code);
    }
    liar.heal();
    liar.fail();
    assert.is((await faultOf(outcomeOf(lied, pairs[0]))).kind, 'transient');
  });

  test('a success whose log shows another transfer is unclear', async () => {
    const lied = await paid();
    const { call, name, prefix, otherToken } = family.logs;
    const word = (digits: string) => `${prefix}${digits.padStart(64, '0')}`;
    const changes: Readonly<Record<string, (log: Json) => readonly Json[]>> = {
      none: () => [],
      'fewer units': (log) => [{ ...log, data: word('4') }],
      'more units': (log) => [{ ...log, data: word('6') }],
      'twice the units': (log) => [log, log],
      'another token': (log) => [{ ...log, address: otherToken }],
      'another sender': (log) => [{ ...log, topics: log.topics.with(1, word('1')) }],
      'another payee': (log) => [{ ...log, topics: log.topics.with(2, word('1')) }],
      'another event': (log) => [{ ...log, topics: log.topics.with(0, word('1')) }],
      'an indexed value': (log) => [{ ...log, topics: [...log.topics, log.data] }],
    };
    for (const [what, change] of Object.entries(changes)) {
      liar.tell((asked, _, honest) =>
        call.test(asked) ? { ...honest, [name]: honest[name].flatMap(change) } : undefined,
      );
      await fails(lied, alone, 'payout_outcome_unclear', what);
    }
  });

  test(`one honest node of two is enough: whatever the other answers, no false outcome is reported (SEED=${SEED})`, async () => {
    const random = createRandom('payout lies', SEED);
    const spoiled = spoiler(family.substitutes, random);
    const seen = new Set<string>();
    for (const [lied, truth] of await family.scenes()) {
      for (let round = 0; round < ROUNDS; round++) {
        liar.tell(family.lieAtRandom(random, spoiled, lied));
        try {
          const { kind } = await outcomeOf(lied, pairs[random.int(2)] ?? pairs[0]);
          seen.add(kind);
          assert.ok(kind === truth || kind === 'waiting', `${truth}, round ${round}: ${kind}`);
        } catch (error) {
          if (!(error instanceof Fault)) throw error;
          assert.is(error.kind, 'transient');
          seen.add(error.code);
        }
      }
    }
    for (const outcome of family.expected) assert.ok(seen.has(outcome), `${outcome} was among ${[...seen].join(', ')}`);
  });

  test(`a node that lies at random quotes or fails, and breaks nothing (SEED=${SEED})`, async () => {
    const random = createRandom('quote lies', SEED);
    const spoiled = spoiler(family.substitutes, random);
    const { wallets, intent, attempt } = await prepared();
    const draft = wallets.draft(intent);
    const nonce = attempt.terms.nonce === undefined ? null : Number(attempt.terms.nonce);
    const asked = [
      () => alone.quote(draft, nonce, []),
      () => alone.count(draft.payer),
      () => alone.balance(draft.payer),
      () => alone.broadcast(attempt.bytes.subarray(1)),
    ];
    liar.tell((_call, _asked, honest) => {
      if (random.chance(family.honesty)) return undefined;
      return nonce !== null && random.chance(0.2) ? new Failure(-32000, 'internal error') : spoiled(honest ?? null);
    });
    let faults = 0;
    for (let round = 0; round < 3 * ROUNDS; round++) {
      await asked[round % asked.length]?.().catch((error) => {
        if (!(error instanceof Fault) || error.kind !== 'transient') throw error;
        faults += 1;
      });
    }
    assert.ok(faults > ROUNDS / 3, `${faults} of ${3 * ROUNDS}`);
  });
}
