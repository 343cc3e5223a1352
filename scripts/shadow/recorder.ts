/**
 * What a shadow has found so far: faults, doubted answers, and how the comparisons ended.
 * @module
 */
import type { Situation } from '../../indexers/follower/reporter.ts';
import type { Exchange } from '../../src/chains/chain.ts';
import type { BlockRef } from '../../src/core/block.ts';
import type { Compared } from './comparison.ts';
import type { Evidence } from './evidence.ts';
import type { Findings, FoundDifference, Uncompared } from './findings.ts';
import { createCounts } from './tally.ts';
import type { Trouble } from './watched-parts.ts';

const LISTED_MAX = 100;
/** Messages of faults that were counted where they arose, and that the follower is about to report. */
const RECENT_MAX = 64;
/** The newest answers, for faults that the follower finds by comparing several. */
const ANSWERS_MAX = 8;
/** Faults of the connection, or of a node that is overloaded or syncing: there is no answer to doubt. */
const UNDOUBTED: ReadonlySet<string> = new Set([
  'node_unreachable',
  'node_timeout',
  'node_busy',
  'node_refused',
  'node_rate_limited',
  'node_syncing',
  'node_unhealthy',
]);

export interface Recorder {
  /** Counts a fault, and saves the exchanges if an answer was doubted. */
  trouble(trouble: Trouble, reader: 'follower' | 'decoder' | 'second'): void;
  /** Remembers the exchanges of a call that succeeded, in case that the follower doubts them later. */
  answered(exchanges: readonly Exchange[]): void;
  /** Counts what the follower reports besides: faults of its own, and a node that falls behind. */
  situation(change: Partial<Situation>): void;
  compared(end: Compared): void;
  faultCount(): number;
  found(): Pick<Findings, 'faults' | 'doubted' | 'differences' | 'uncompared'> &
    Readonly<{
      blocks: Pick<Findings['blocks'], 'compared' | 'replaced' | 'uncompared'>;
      transfers: Pick<Findings['transfers'], 'all' | 'watched'>;
    }>;
}

/** Counts so far, and what is listed, at most `LISTED_MAX` of each. */
type State = {
  readonly blocks: { compared: number; replaced: number; uncompared: number };
  readonly transfers: { all: number; watched: number };
  readonly differences: FoundDifference[];
  readonly uncompared: Uncompared[];
  differenceCount: number;
  faultCount: number;
  doubted: number;
  /** Why the node is behind, while it is. */
  behind: string | null;
};

/** @param onSame called with each block that was read twice alike */
export function createRecorder(
  evidence: Evidence,
  onSame: (end: Extract<Compared, { kind: 'same' }>) => void,
): Recorder {
  const faults = { follower: createCounts(), second: createCounts() };
  const recent = new Set<string>();
  const answers: (readonly Exchange[])[] = [];
  const state: State = {
    blocks: { compared: 0, replaced: 0, uncompared: 0 },
    transfers: { all: 0, watched: 0 },
    differences: [],
    uncompared: [],
    differenceCount: 0,
    faultCount: 0,
    doubted: 0,
    behind: null,
  };

  function count(reader: keyof typeof faults, code: string): void {
    faults[reader].add(code);
    state.faultCount += 1;
  }

  function remember(message: string): void {
    const [oldest] = recent;
    if (oldest !== undefined && recent.size >= RECENT_MAX) recent.delete(oldest);
    recent.add(message);
  }

  function doubt(
    { code, message }: Readonly<{ code: string; message: string }>,
    reader: string,
    block: BlockRef | null,
    exchanges: readonly Exchange[],
  ): void {
    state.doubted += 1;
    evidence.save({ code, block, about: { what: 'doubted answer', reader, code, message }, exchanges });
  }

  function differ({ read, differences: found, second }: Extract<Compared, { kind: 'different' }>): void {
    const { block, source } = read;
    const exchanges = [...source.exchanges, ...second];
    const about = { what: 'difference', differences: found, follower: source.exchanges.length, second: second.length };
    const saved = evidence.save({ code: 'difference', block, about, exchanges });
    state.differenceCount += found.length;
    const room = LISTED_MAX - state.differences.length;
    state.differences.push(...found.slice(0, room).map((one) => ({ ...one, block, saved })));
  }

  return {
    trouble({ fault, block, exchanges }, reader) {
      count(reader === 'second' ? 'second' : 'follower', fault.code);
      remember(fault.message);
      if (!UNDOUBTED.has(fault.code)) doubt(fault, reader, block, exchanges);
    },
    answered(exchanges) {
      answers.push(exchanges);
      if (answers.length > ANSWERS_MAX) answers.shift();
    },
    situation({ state: now, reason = null }) {
      if (now === undefined) return;
      const { behind } = state;
      state.behind = now === 'behind' ? (reason?.code ?? null) : null;
      if (!reason || reason.code === 'catching_up') return;
      if (now === 'behind' && reason.code !== behind) count('follower', reason.code);
      if (now === 'behind' || recent.has(reason.message)) return;
      count('follower', reason.code);
      doubt(reason, 'follower', null, answers.flat());
    },
    compared(end) {
      const { blocks, transfers, uncompared } = state;
      switch (end.kind) {
        case 'replaced':
          blocks.replaced += 1;
          return;
        case 'uncompared':
          blocks.uncompared += 1;
          if (uncompared.length < LISTED_MAX) uncompared.push({ block: end.read.block, why: evidence.censor(end.why) });
          return;
        case 'different':
          blocks.compared += 1;
          differ(end);
          return;
        case 'same':
          blocks.compared += 1;
          transfers.all += end.all.length;
          transfers.watched += end.read.transfers.length;
          onSame(end);
      }
    },
    faultCount: () => state.faultCount,
    found: () => ({
      ...state,
      faults: { follower: faults.follower.all(), second: faults.second.all() },
      differences: { count: state.differenceCount, listed: state.differences },
    }),
  };
}
