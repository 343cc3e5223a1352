/**
 * A simulated chain on which tests do what no merchant needs: forks that keep transactions, finality on command, the
 * loss of blocks when a node is killed, and the truth to audit against.
 */
import { invariant, permanent } from '../../src/core/fault.ts';
import { loggedEntries, type WorldBlock } from '../../src/sandbox/block-tree.ts';
import { digest } from '../../src/sandbox/digest.ts';
import { buildTransaction, type WorldTransaction } from '../../src/sandbox/transaction.ts';
import {
  type World as Chain,
  type WorldOptions as ChainOptions,
  type Change,
  createWorld as createChain,
} from '../../src/sandbox/world.ts';
import { createRandom } from '../support/random.ts';
import { type KeepChoice, replay } from './replay.ts';

export type WorldOptions = ChainOptions &
  Readonly<{
    /** Keys of the token contracts whose transfers are money. */
    tokens: readonly string[];
    /** Width of this network's address keys. */
    keyBytes: number;
  }>;

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

export type World = Readonly<ReturnType<typeof extendWorld>>;

type Shape = Pick<WorldOptions, 'seed' | 'tokens' | 'keyBytes'>;

/** Creates a world for a test. */
export const createWorld = (options: WorldOptions): World =>
  extendWorld((change) => createChain({ ...options, ...change }), options);

/** Returns the functions of whichever chain is the present one. */
const delegating = (first: Chain, present: () => Chain): Chain =>
  Object.fromEntries(
    (Object.keys(first) as (keyof Chain)[]).map((name) => [
      name,
      (...given: unknown[]) => (present()[name] as (...all: unknown[]) => unknown)(...given),
    ]),
  ) as unknown as Chain;

/**
 * Gives a shipped world the powers of a test.
 * @param open opens the chain, again with what it has kept whenever the node loses blocks or gets them back
 */
export function extendWorld(
  open: (change: Pick<Partial<ChainOptions>, 'seed' | 'kept'>) => Chain,
  { seed, tokens, keyBytes }: Shape,
) {
  let present = open({});
  const chain = delegating(present, () => present);
  const listeners = new Set<(change: Change) => void>();
  const tell = (change: Change): void => {
    for (const listener of listeners) listener(change);
  };
  present.onChange(tell);
  let raised = 0;
  let made = 0;

  /** Opens the chain on these blocks, the last of which is its tip. Other blocks are mined on it than before. */
  function reopen(kept: readonly WorldBlock[], change: Change): void {
    raised = finalized().number;
    present = open({ kept, seed: digest('reopened', seed, made++) });
    present.onChange(tell);
    tell(change);
  }

  const finalized = (): WorldBlock => chain.atOrBelow(Math.max(raised, chain.finalized().number));

  /** A payment between strangers. */
  function makeNoise(): WorldTransaction {
    const random = createRandom('noise', seed, made);
    const stranger = () => digest('stranger', seed, random.int(2 ** 32)).slice(0, keyBytes * 2);
    const token = tokens[random.int(tokens.length)] ?? stranger();
    const output = { token, to: stranger(), units: BigInt(1 + random.int(1_000_000_000)) };
    return buildTransaction({ kind: 'direct', from: stranger(), outputs: [output] }, (content) =>
      digest('noise', seed, made++, content),
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
    onChange(listener: (change: Change) => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    /** Mines one block of these transactions or of so many payments between strangers, and of pending ones. */
    mine: (first: number | readonly WorldTransaction[] = 0) =>
      chain.mine(typeof first === 'number' ? Array.from({ length: first }, makeNoise) : first),
    finalized,
    /** Makes everything up to `number` (default: the tip) final. */
    finalize(number = chain.tip().number) {
      raised = Math.max(raised, Math.min(number, chain.tip().number));
      return finalized();
    },
    /**
     * Replaces the newest blocks.
     * @throws Fault permanent `sandbox_request_invalid` if they cannot be replaced
     */
    reorg({ depth, keep = 'none', blocks = depth, breakFinality = false }: ReorgOptions): Change {
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
    /**
     * Loses the newest blocks and whatever is pending, as a node that was killed comes back with. The lost blocks are
     * not known by their hashes either.
     * @returns the lost blocks, oldest first
     * @throws Fault permanent `sandbox_request_invalid` if one of them is final
     */
    restart({ depth, breakFinality = false }: Pick<ReorgOptions, 'depth' | 'breakFinality'>): readonly WorldBlock[] {
      if (!breakFinality) refuseFinal(depth);
      const lost = [...chain.canonical()].slice(-depth);
      const below = chain.byHash(lost[0]?.parent ?? '');
      invariant(below, 'a block below those that are lost is kept');
      const others = [...chain.kept()].filter((block) => block !== below && !lost.includes(block));
      reopen([...others, below], { removed: lost, added: [] });
      return lost;
    },
    /**
     * Gets blocks back that a restart lost, as from other nodes.
     * @throws Fault permanent `sandbox_request_invalid` if other blocks were mined instead
     */
    rejoin(lost: readonly WorldBlock[]): void {
      if (lost[0]?.parent !== chain.tip().hash)
        throw permanent('sandbox_request_invalid', 'other blocks were mined instead of those that were lost');
      const waiting = chain.pending();
      reopen([...chain.kept(), ...lost], { removed: [], added: lost });
      for (const transaction of waiting) chain.submit(transaction);
    },
    /** Returns the truth to audit against, oldest first, as far back as blocks are kept. */
    transfers(): TrueTransfer[] {
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
