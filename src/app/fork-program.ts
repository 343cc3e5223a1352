/**
 * Starts a program of Quayside as a child process.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { runnable } from '../lib/installation.ts';
import { AWAIT_START } from '../lib/start-signal.ts';

/**
 * Keeps a process small that is idle most of the time and never holds much. Measured in docs/internals/performance.md.
 *
 * V8 would let the space of new objects grow to 3 × 16 MB before it collects them, and start threads for collections
 * that take a millisecond here. Node 20, 22 and 24 all know these options; an option that Node does not know ends it.
 */
const nodeArguments: readonly string[] = ['--single-threaded-gc', '--v8-pool-size=1'];
/** The GNU C library gives each thread an arena of its own, and keeps what was freed there. Others ignore it. */
const fewArenas = { MALLOC_ARENA_MAX: '2' };
/** Under load the server's objects die young: it would spend a fifth of its time on collections. */
const newSpaceMb = ({ pathname }: URL): number => (pathname.endsWith('/server.ts') ? 16 : 1);

type Program = Readonly<{
  /** The program's source. */
  module: URL;
  args?: readonly string[];
  env: NodeJS.ProcessEnv;
  /** It loads its modules and then waits for a `Start`. */
  isEarly?: boolean;
}>;

/** Starts the program, with a channel that carries what structured clones can: the configuration has bigints. */
export function forkProgram({ module, args = [], env, isEarly = false }: Program): ChildProcess {
  return fork(runnable(module), args, {
    env: { ...fewArenas, ...env, ...(isEarly && { [AWAIT_START]: '1' }) },
    execArgv: [...process.execArgv, ...nodeArguments, `--max-semi-space-size=${newSpaceMb(module)}`],
    serialization: 'advanced',
  });
}
