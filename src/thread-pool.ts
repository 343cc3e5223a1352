/**
 * Worker threads that run TypeScript. One place knows how, because tsx registers itself only in a program's main thread on Node 20.
 * @module
 */
import { Piscina } from 'piscina';

/** What a thread runs before anything else: the same loader that the main thread has. */
const loader = `data:text/javascript,import{register}from${JSON.stringify(import.meta.resolve('tsx/esm/api'))};register();`;

/** Node arguments for a `Worker` that is to load a `.ts` file. */
export const threadArgs: readonly string[] = ['--import', loader];

export type ThreadPoolOptions = Readonly<{
  /** The module that the threads load; its export `task` is called with each input. */
  module: URL;
  task: string;
  threadsMax: number;
  /** A thread without work for this long ends; an idle pool has none. */
  idleMsMax: number;
}>;

/** A pool that starts its threads when the first input comes. */
export function openThreadPool<Input, Output>(options: ThreadPoolOptions): Piscina<Input, Output> {
  return new Piscina<Input, Output>({
    filename: options.module.href,
    name: options.task,
    minThreads: 0,
    maxThreads: options.threadsMax,
    idleTimeout: options.idleMsMax,
    execArgv: [...threadArgs],
  });
}
