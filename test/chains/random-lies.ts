/** A node that lies at random, alone or beside an honest one: what payouts must survive on any family. */
import * as assert from 'uvu/assert';
import type { PayoutNode } from '../../src/chains/spend.ts';
import { Fault } from '../../src/core/fault.ts';
import type { Intent } from '../../src/core/intent.ts';
import type { Random } from '../../src/sandbox/random.ts';
import type { Attempt, SeedWallets } from './seed-wallets.ts';

/** Returns an answer with one part of it replaced or left out. @param substitutes what takes the place of a part */
export function spoiler(substitutes: readonly unknown[], random: Random) {
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

export type LiedScene = Readonly<{
  wallets: SeedWallets;
  intent: Intent;
  attempts: readonly Attempt[];
  /** What honest nodes say. */
  truth: string;
}>;

/**
 * Asserts that one honest node of two is enough: no false outcome is reported, and faults are transient.
 * @param lie makes the liar lie about a scene until it is called again
 * @param expected outcomes and codes that must have occurred
 */
export async function survivesLiar(
  random: Random,
  rounds: number,
  scenes: readonly LiedScene[],
  pairs: readonly PayoutNode[],
  lie: (scene: LiedScene) => void,
  expected: readonly string[],
): Promise<void> {
  const seen = new Set<string>();
  for (const scene of scenes) {
    const { wallets, intent, attempts, truth } = scene;
    for (let round = 0; round < rounds; round++) {
      lie(scene);
      const pair = pairs[random.int(pairs.length)];
      try {
        const outcome = await pair?.outcome(wallets.draft(intent), attempts);
        seen.add(outcome?.kind ?? '');
        assert.ok(outcome?.kind === truth || outcome?.kind === 'waiting', `${truth}, round ${round}: ${outcome?.kind}`);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        assert.is(error.kind, 'transient');
        seen.add(error.code);
      }
    }
  }
  for (const outcome of expected) assert.ok(seen.has(outcome), `${outcome} was among ${[...seen].join(', ')}`);
}

/** Asserts that each question is answered, or fails with a transient fault. @returns how many failed */
export async function faultsOf(asked: readonly (() => Promise<unknown>)[], rounds: number): Promise<number> {
  let faults = 0;
  for (let round = 0; round < rounds; round++) {
    await asked[round % asked.length]?.().catch((error) => {
      if (!(error instanceof Fault) || error.kind !== 'transient') throw error;
      faults += 1;
    });
  }
  return faults;
}
