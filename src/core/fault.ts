/**
 * Operating faults: things that go wrong outside this program (a node, a disk, a merchant's server, an operator's file).
 * A broken invariant is not a fault; it is an `invariant` failure and ends the process.
 * @module
 */

/** `transient`: the same call may succeed later. `permanent`: it will not, until a person changes something. */
export type FaultKind = 'transient' | 'permanent';

/** An operating fault with a stable machine-readable `code` (snake_case) and a message that says where and what to do next. */
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

/** A fault that a retry may cure. */
export const transient = (code: string, message: string, cause?: unknown): Fault =>
  new Fault('transient', code, message, cause);

/** A fault that only a person can cure. */
export const permanent = (code: string, message: string, cause?: unknown): Fault =>
  new Fault('permanent', code, message, cause);

/**
 * Ends the current work when a programmer's assumption is false.
 * @throws Error named `InvariantBroken`; nobody catches it but the supervisor, which restarts the process.
 */
export function invariant(condition: unknown, what: string): asserts condition {
  if (condition) return;
  const broken = new Error(`invariant broken: ${what}`);
  broken.name = 'InvariantBroken';
  throw broken;
}
