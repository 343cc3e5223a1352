/**
 * Node's options of the child processes.
 * @module
 */

/**
 * Keeps a process small that is idle most of the time and never holds much. Measured in docs/footprint.md.
 *
 * V8 would let the space of new objects grow to 3 × 16 MB before it collects them, and start threads for collections
 * that take a millisecond here. Node 20, 22 and 24 all know these options; an option that Node does not know ends it.
 */
export const nodeArguments: readonly string[] = ['--max-semi-space-size=1', '--single-threaded-gc', '--v8-pool-size=1'];
