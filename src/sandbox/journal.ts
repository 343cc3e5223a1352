/**
 * Lets a world survive a restart: a file with one JSON line per block, in order of creation. Losing the last lines is
 * no worse than a small reorg, because every line's parent is above it and the last line is the tip.
 */
import {
  appendFileSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod';
import { permanent } from '../core/fault.ts';
import type { WorldBlock } from './block-tree.ts';
import { createWorld, type World, type WorldOptions } from './world.ts';

/** After this many blocks since the last rewrite, the file is rewritten with only what the world still keeps. */
const COMPACT_AFTER_BLOCKS = 16_384;

/** A bigint is text in JSON, with a mark before it that no other text of a block has. */
const UNITS = /^units (-?\d+)$/;
const revive = (_: string, part: unknown): unknown => {
  const [, digits] = (typeof part === 'string' && UNITS.exec(part)) || [];
  return digits === undefined ? part : BigInt(digits);
};

const headLine = z.object({ version: z.literal(2), seed: z.string().min(1) });
/** Tells a whole line of ours from any other: a line is written at once, so its end is what a torn one lacks. */
const blockLine = z.object({ hash: z.string(), serial: z.int(), transactions: z.array(z.object({ id: z.string() })) });

const toLine = (value: unknown): string =>
  `${JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `units ${part}` : part))}\n`;

/** Reads a line that fits the schema; null if it is torn, or not ours. */
function readLine<T>(schema: z.ZodType, line: string): T | null {
  try {
    const read: unknown = JSON.parse(line, revive);
    return schema.safeParse(read).success ? (read as T) : null;
  } catch {
    return null;
  }
}

/**
 * Reads a journal up to a torn end, as a power cut leaves it.
 * @throws Fault permanent `sandbox_journal_corrupt` if something unreadable comes before readable lines
 */
export function readJournal(file: string): Readonly<{ seed: string; blocks: WorldBlock[] }> {
  const [first = '', ...lines] = readFileSync(file, 'utf8').split('\n');
  const head = readLine<z.infer<typeof headLine>>(headLine, first);
  if (!head) throw corrupt(file, 1);
  const blocks: WorldBlock[] = [];
  let tornAt: number | null = null;
  for (const [at, line] of lines.entries()) {
    const block = readLine<WorldBlock>(blockLine, line);
    if (block === null) tornAt ??= at + 2;
    else if (tornAt !== null) throw corrupt(file, tornAt);
    else blocks.push(block);
  }
  return { seed: head.seed, blocks };
}

const corrupt = (file: string, line: number) =>
  permanent(
    'sandbox_journal_corrupt',
    `cannot read line ${line} of the sandbox's chain ${file}: delete the file to start a new chain (sessions paid on the old one keep their state)`,
  );

/** Replaces the file atomically and leaves it open for appending. */
function rewrite(file: string, seed: string, blocks: Iterable<WorldBlock>): number {
  const lines = [toLine({ version: 2, seed })];
  for (const block of blocks) lines.push(toLine(block));
  const fresh = `${file}.new`;
  writeFileSync(fresh, lines.join(''), { mode: 0o600 });
  const descriptor = openSync(fresh, 'a');
  fsyncSync(descriptor);
  renameSync(fresh, file);
  return descriptor;
}

export type DurableWorldOptions = Omit<WorldOptions, 'kept' | 'record'> &
  Readonly<{
    /** Created with its folder if absent; then `seed` is the new world's, otherwise the file's own. */
    file: string;
    compactAfterBlocks?: number;
  }>;

/**
 * Opens a world whose blocks are in a file before anyone sees them. One process at a time.
 * @throws Fault permanent `sandbox_journal_corrupt`; a failing disk throws from whatever call mines
 */
export function openDurableWorld(options: DurableWorldOptions): Readonly<{ world: World; close(): void }> {
  const { file, compactAfterBlocks = COMPACT_AFTER_BLOCKS, ...worldOptions } = options;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const { seed, blocks } = existsSync(file) ? readJournal(file) : { seed: options.seed, blocks: [] };
  let open: { descriptor: number; appended: number; whole: boolean } | null = null;

  function record(block: WorldBlock): void {
    // The first blocks of a new world are written by the first compaction.
    if (!open) return;
    // After a failed append the file may end in a torn line, and nothing may be appended to that.
    if (!open.whole || open.appended >= compactAfterBlocks) open = compact(open.descriptor);
    open.whole = false;
    appendFileSync(open.descriptor, toLine(block));
    open.whole = true;
    open.appended += 1;
  }

  function compact(outdated: number | null) {
    const descriptor = rewrite(file, seed, world.kept());
    if (outdated !== null) closeSync(outdated);
    return { descriptor, appended: 0, whole: true };
  }

  const world = createWorld({ ...worldOptions, seed, kept: blocks, record });
  open = compact(null);
  return {
    world,
    close() {
      if (open) closeSync(open.descriptor);
    },
  };
}
