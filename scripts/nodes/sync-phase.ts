/**
 * The stage that a node is at, by its own words.
 */
import { readQuantity } from '../../src/chains/evm/wire.ts';
import { isFields } from '../../src/core/fields.ts';
import type { Software } from './software.ts';

const WAITS = 'waits for its consensus client or its first peer';

/**
 * Returns what a node is at while the age of its newest block says nothing: it fetches a state, whose end nobody knows,
 * or waits. Null if blocks are all that is missing.
 * @param number of the newest block
 */
export function phaseOf(syncing: Software['syncing'], number: number): string | null {
  if (syncing === null) return number === 0 ? WAITS : null;
  const [current, highest, healing] = [syncing.currentBlock, syncing.highestBlock, syncing.healingTrienodes].map(
    (value) => readQuantity(value) ?? 0,
  ) as [number, number, number];
  if (Array.isArray(syncing.stages)) return stageText(syncing.stages);
  if (number > 0) return null;
  // geth 1.16 says that it is syncing from block 0 to block 0 before its consensus client has spoken.
  if (highest === 0) return WAITS;
  if (healing > 0) return `heals its state (${healing} nodes pending), which ends when the disk is fast enough`;
  if (current < highest) return `fetches blocks and state: block ${current} of ${highest}`;
  return 'fetches the state';
}

/** The slowest stage decides: its client shows its newest block as the target. Null once all are at the same block. */
function stageText(stages: readonly unknown[]): string | null {
  const read = stages.flatMap((stage) => {
    const { name, block } = isFields(stage) ? stage : {};
    const number = readQuantity(block);
    return typeof name === 'string' && number !== null ? [{ name, number }] : [];
  });
  const slowest = read.reduce<(typeof read)[number] | null>(
    (one, other) => (one && one.number <= other.number ? one : other),
    null,
  );
  const target = Math.max(0, ...read.map(({ number }) => number));
  return slowest === null || slowest.number === target
    ? null
    : `stage ${slowest.name} at block ${slowest.number} of ${target}`;
}
