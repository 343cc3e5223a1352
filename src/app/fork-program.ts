/**
 * Starts a program of Quayside as a child process.
 */
import { type ChildProcess, fork } from 'node:child_process';
import type { Config } from '../config/config.ts';
import { runnable } from '../lib/installation.ts';

/**
 * Keeps a process small that is idle most of the time and never holds much. Measured in docs/internals/performance.md.
 *
 * V8 would let the space of new objects grow to 3 × 16 MB before it collects them, and start threads for collections
 * that take a millisecond here. Node 20, 22 and 24 all know these options; an option that Node does not know ends it.
 */
const nodeArguments: readonly string[] = ['--single-threaded-gc', '--v8-pool-size=1'];
/**
 * The GNU C library gives each thread an arena of its own, and keeps what was freed there; a block from 16 kB on gets a
 * mapping of its own instead, which ends when it is freed. Other libraries ignore it.
 */
const returnsMemory = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '16384' };
/** Under load the server's objects die young: it would spend a fifth of its time on collections. */
const newSpaceMb = ({ pathname }: URL): number => (pathname.endsWith('/server.ts') ? 16 : 1);

type Program = Readonly<{
  /** The program's source. */
  module: URL;
  args?: readonly string[];
  /** Its settings, sent at once; null: it loads them itself. Absent for a program that has none. */
  settings?: Config | null | undefined;
}>;

/** The first message to a program that works with the configuration. */
export type Sent = Readonly<{ settings: Config | null }>;

/** Starts the program, with a channel that carries what structured clones can: the configuration has bigints. */
export function forkProgram({ module, args = [], settings }: Program): ChildProcess {
  const child = fork(runnable(module), args, {
    env: { ...returnsMemory, ...process.env },
    execArgv: [...process.execArgv, ...nodeArguments, `--max-semi-space-size=${newSpaceMb(module)}`],
    serialization: 'advanced',
  });
  const sent: Sent | undefined = settings === undefined ? undefined : { settings };
  // A process that could not be created reports it by itself.
  if (sent) child.send(sent, () => {});
  return child;
}

/** Awaits the end of a program. @returns its exit code, or what ended it */
export const ended = (
  child: ChildProcess,
): Promise<Readonly<{ code: number | null; signal: NodeJS.Signals | null; error?: string }>> =>
  new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    // A process that could not be created counts as one that died.
    child.once('error', ({ message }) => resolve({ code: null, signal: null, error: message }));
  });
