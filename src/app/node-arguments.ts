/**
 * Node's options of the child processes.
 * @module
 */

/**
 * Keeps a process small that is idle most of the time and never holds much. Measured in docs/footprint.md.
 *
 * V8 would let the space of new objects grow to 3 × 16 MB before it collects them, and start threads for collections
 * that take a millisecond here. A function is optimized after it has run about seven times as long as usual: otherwise
 * a third of the start would go to optimizing what only the start needs.
 */
export const nodeArguments: readonly string[] = [
  '--max-semi-space-size=1',
  '--single-threaded-gc',
  '--v8-pool-size=1',
  '--interrupt-budget=1000000',
];
