/**
 * A simulated chain on which tests do what no merchant needs: forks that keep transactions, finality on command, and
 * the truth to audit against.
 */
import { permanent } from '../../src/core/fault.ts';
import { loggedEntries, type WorldBlock } from '../../src/sandbox/block-tree.ts';
import { createRandom, digest } from '../../src/sandbox/random.ts';
import { buildTransaction, type WorldTransaction } from '../../src/sandbox/transaction.ts';
import {
  type World as Chain,
  type Change,
  createWorld as createChain,
  type WorldOptions,
} from '../../src/sandbox/world.ts';
import { type KeepChoice, replay } from './replay.ts';

export type { WorldOptions } from '../../src/sandbox/world.ts';

export type ReorgOptions = Readonly<{
  /** How many of the newest blocks are replaced. */
  depth: number;
  /** Which of their transactions survive; none if absent. */
  keep?: KeepChoice;
  /** By how many blocks; `depth` if absent. */
  blocks?: number;
  /** Allows replacing final blocks, which an honest chain never does. */
  breakFinality?: boolean;
}>;

/** One real transfer: in the canonical chain, in a successful transaction, of real money, above zero. */
export type TrueTransfer = Readonly<{
  transactionId: string;
  /** Index among everything that the block reports (EVM: the log index). */
  index: number;
  block: WorldBlock;
  token: string;
  from: string;
  to: string;
  units: bigint;
}>;

export type World = Omit<Chain, 'reorg'> &
  Readonly<{
    /**
     * Replaces the newest blocks.
     * @throws Fault permanent `sandbox_request_invalid` if they cannot be replaced
     */
    reorg(options: ReorgOptions): Change;
    /** Makes everything up to `number` (default: the tip) final. */
    finalize(number?: number): WorldBlock;
    /** Returns the truth to audit against, oldest first, as far back as blocks are kept. */
    transfers(): TrueTransfer[];
  }>;

type Shape = Pick<WorldOptions, 'seed' | 'tokens' | 'keyBytes'>;

/** Creates a world for a test. */
export const createWorld = (options: WorldOptions): World => extendWorld(createChain(options), options);

/** Gives a shipped world the powers of a test. */
export function extendWorld(chain: Chain, { seed, tokens, keyBytes }: Shape): World {
  let raised = 0;
  let made = 0;

  const finalized = (): WorldBlock => chain.atOrBelow(Math.max(raised, chain.finalized().number));

  /** A payment between strangers. */
  function makeNoise(): WorldTransaction {
    const random = createRandom('reorg noise', seed, made);
    const stranger = () => digest('stranger', seed, random.int(2 ** 32)).slice(0, keyBytes * 2);
    const token = tokens[random.int(tokens.length)] ?? stranger();
    const output = { token, to: stranger(), units: BigInt(1 + random.int(1_000_000_000)) };
    return buildTransaction({ kind: 'direct', from: stranger(), outputs: [output] }, (content) =>
      digest('reorg noise', seed, made++, content),
    );
  }

  function refuseFinal(depth: number): void {
    const blocks = [...chain.canonical()];
    const lowest = blocks[blocks.length - depth];
    if (lowest && lowest.number > 0 && lowest.number <= finalized().number) {
      throw permanent('sandbox_request_invalid', `block ${lowest.number} is final`);
    }
  }

  return {
    ...chain,
    finalized,
    finalize(number = chain.tip().number) {
      raised = Math.max(raised, Math.min(number, chain.tip().number));
      return finalized();
    },
    reorg({ depth, keep = 'none', blocks = depth, breakFinality = false }) {
      if (!breakFinality) refuseFinal(depth);
      const change = chain.reorg({
        depth,
        breakFinality: true,
        fill: (removed) => replay(removed, keep, blocks, createRandom('reorg', seed, made++), makeNoise),
      });
      if (keep === 'pending') {
        const waiting = change.removed.flatMap(({ transactions }) => transactions);
        for (const transaction of waiting) chain.submit(transaction);
      }
      return change;
    },
    restart(options) {
      if (!options.breakFinality) refuseFinal(options.depth);
      return chain.restart({ ...options, breakFinality: true });
    },
    transfers() {
      const found: TrueTransfer[] = [];
      for (const block of chain.canonical()) {
        for (const { transaction, entry, index } of loggedEntries(block)) {
          if (entry.kind !== 'transfer' || entry.units === 0n || !tokens.includes(entry.token)) continue;
          const { token, from, to, units } = entry;
          found.push({ transactionId: transaction.id, index, block, token, from, to, units });
        }
      }
      return found;
    },
  };
}
