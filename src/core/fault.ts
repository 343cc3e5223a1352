/**
 * Operating faults: failures outside this program (a node, a disk, a merchant's server, an operator's file). A broken
 * invariant is not a fault. It is an `invariant` failure, and ends the process.
 */

/** `transient`: the same call may succeed later. `permanent`: the call will fail until a person changes something. */
export type FaultKind = 'transient' | 'permanent';

/** An operating fault: a stable `code` (snake_case) and a message that says where it happened and what to do next. */
export class Fault extends Error {
  readonly kind: FaultKind;
  readonly code: string;

  constructor(kind: FaultKind, code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'Fault';
    this.kind = kind;
    this.code = code;
  }
}

/** Returns a fault that may pass by itself. */
export const transient = (code: string, message: string, cause?: unknown): Fault =>
  new Fault('transient', code, message, cause);

/** Returns a fault that lasts until a person changes something. */
export const permanent = (code: string, message: string, cause?: unknown): Fault =>
  new Fault('permanent', code, message, cause);

export const isTransient = (error: unknown): error is Fault => error instanceof Fault && error.kind === 'transient';

/**
 * Ends the current work when a programmer's assumption is false.
 * @throws Error named `InvariantBroken`. Nothing catches it, so the process ends and the supervisor restarts it. Only
 * the signer refuses the request and goes on.
 */
export function invariant(condition: unknown, what: string): asserts condition {
  if (condition) return;
  const broken = new Error(`invariant broken: ${what}`);
  broken.name = 'InvariantBroken';
  throw broken;
}
