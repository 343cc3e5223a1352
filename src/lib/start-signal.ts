/**
 * How a process that was started early learns that it may begin.
 */

/** Set in the environment of a child that the supervisor starts early. */
export const AWAIT_START = 'QUAYSIDE_AWAIT_START';

/** The supervisor's message to that child once it may begin, with what it begins with, such as its configuration. */
export type Start = Readonly<{ start: true; with?: unknown }>;

export const isStart = (message: unknown): message is Start =>
  typeof message === 'object' && message !== null && 'start' in message && message.start === true;
