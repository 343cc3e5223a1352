/** Worker threads. One place starts them, because a `Fault` loses its class and code on the way between threads. */
import type { Transferable } from 'node:worker_threads';
import type { Piscina } from 'piscina';
import { Fault, type FaultKind, invariant } from '../core/fault.ts';
import { runnable } from './installation.ts';
import { nameSources } from './stack-trace.ts';

// In the threads, too.
nameSources();

/** A task's result as it crosses to the main thread. */
export type ThreadAnswer<Output> =
  | Readonly<{ kind: 'done'; output: Output }>
  | Readonly<{ kind: 'fault'; fault: Readonly<{ kind: FaultKind; code: string; message: string }> }>;

/** Runs a task in the thread and converts a `Fault` for the main thread. Any other error ends the process. */
export async function answer<Output>(work: () => Output | Promise<Output>): Promise<ThreadAnswer<Output>> {
  try {
    return { kind: 'done', output: await work() };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { kind: 'fault', fault: { kind: error.kind, code: error.code, message: error.message } };
  }
}

type ThreadPoolOptions = Readonly<{
  /** The module that the threads load; its export `task` takes an input and returns what `answer` made. */
  module: URL;
  task: string;
  threadsMax: number;
  /** A thread without work for this long ends; an idle pool has none. */
  idleMsMax: number;
}>;

interface ThreadPool<Input, Output> {
  /**
   * @param moved buffers to transfer instead of copying; they are empty here afterwards
   * @throws Fault that the task threw
   */
  run(input: Input, moved?: readonly Transferable[]): Promise<Output>;
  /** Ends the threads; running tasks are rejected. */
  close(): Promise<void>;
}

/** Opens a pool that loads its code and starts its threads when the first input comes. */
export function openThreadPool<Input, Output>(options: ThreadPoolOptions): ThreadPool<Input, Output> {
  let threads: Promise<Piscina<Input, ThreadAnswer<Output>>> | null = null;
  let isClosed = false;

  async function open(): Promise<Piscina<Input, ThreadAnswer<Output>>> {
    const { Piscina } = await import('piscina');
    return new Piscina({
      filename: runnable(options.module).href,
      name: options.task,
      minThreads: 0,
      maxThreads: options.threadsMax,
      idleTimeout: options.idleMsMax,
    });
  }

  return {
    async run(input, moved = []) {
      invariant(!isClosed, 'no input comes after the pool was closed');
      threads ??= open();
      const result = await (await threads).run(input, { transferList: [...moved] });
      if (result.kind === 'done') return result.output;
      throw new Fault(result.fault.kind, result.fault.code, result.fault.message);
    },
    async close() {
      isClosed = true;
      await (await threads)?.destroy();
    },
  };
}
