/**
 * Starts a program of Quayside as a child process.
 */
import { type ChildProcess, fork } from 'node:child_process';
import type { Config } from '../config/config.ts';
import { runnable } from '../lib/installation.ts';

/**
 * Options that keep the memory of mostly idle processes small. docs/internals/performance.md has the measurements.
 *
 * Without them, V8 lets the space of new objects grow to 3 × 16 MB before it collects them, and starts threads for
 * collections that take a millisecond here. Node 20, 22 and 24 know these options. Node ends at an option that it does
 * not know.
 */
const nodeArguments: readonly string[] = ['--single-threaded-gc', '--v8-pool-size=1'];
/**
 * Variables for the GNU C library, which gives each thread an arena and keeps freed memory there. With these there are
 * two arenas, and a block from 16 kB on has its own mapping, which ends when it is freed. Other libraries ignore them.
 */
const allocatorVariables = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '16384' };
/**
 * Returns the size of V8's space of new objects. With 1 MB the server would spend a fifth of its time under load on
 * collections.
 */
const newSpaceMb = ({ pathname }: URL): number => (pathname.endsWith('/server.ts') ? 16 : 1);

type Program = Readonly<{
  /** The program's source. */
  module: URL;
  args?: readonly string[];
  /** Its settings, which are sent at once. It loads them itself for null, and gets no message if they are absent. */
  settings?: Config | null | undefined;
}>;

/** The first message to a program that works with the configuration. */
export type Sent = Readonly<{ settings: Config | null }>;

/** Starts the program, with a channel for structured clones, because the configuration contains bigints. */
export function forkProgram({ module, args = [], settings }: Program): ChildProcess {
  const child = fork(runnable(module), args, {
    env: { ...allocatorVariables, ...process.env },
    execArgv: [...process.execArgv, ...nodeArguments, `--max-semi-space-size=${newSpaceMb(module)}`],
    serialization: 'advanced',
  });
  const sent: Sent | undefined = settings === undefined ? undefined : { settings };
  // The error of a process that could not be created is reported by `ended`.
  if (sent) child.send(sent, () => {});
  return child;
}

/** Awaits the end of a program. @returns its exit code, signal or error */
export const ended = (
  child: ChildProcess,
): Promise<Readonly<{ code: number | null; signal: NodeJS.Signals | null; error?: string }>> =>
  new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    // A process that could not be created counts as ended.
    child.once('error', ({ message }) => resolve({ code: null, signal: null, error: message }));
  });
