/**
 * Decides when a lasting trouble raises an alarm, and when the alarm ends. Everything that is watched uses this rule.
 */

export type WatchRule = Readonly<{
  /** Time that it must last before an alarm is raised. */
  raiseAfterMs: number;
  /** Time that it must be gone before it is over. Shorter pauses count as part of it. */
  calmMs: number;
}>;

/** A trouble, from when it was first seen until it is over. `calmSinceMs` is null while it is seen. */
export type Trouble = Readonly<{ sinceMs: number; calmSinceMs: number | null; isRaised: boolean }>;

/**
 * - `wait`: nothing to do. There is no trouble, or it is too recent, or it may be over.
 * - `raise`: it has lasted, so an alarm is raised. `keep`: it still lasts. `end`: it is over, and so is its alarm.
 */
type WatchStep = 'wait' | 'raise' | 'keep' | 'end';

/**
 * Judges one observation.
 * @param trouble the result of the last observation; null if nothing was wrong
 * @param isSeen whether something is wrong now
 */
export function judgeTrouble(
  trouble: Trouble | null,
  isSeen: boolean,
  nowMs: number,
  { raiseAfterMs, calmMs }: WatchRule,
): Readonly<{ trouble: Trouble | null; step: WatchStep }> {
  if (isSeen) {
    const sinceMs = Math.min(trouble?.sinceMs ?? nowMs, nowMs);
    const wasRaised = trouble?.isRaised ?? false;
    const isRaised = wasRaised || nowMs - sinceMs >= raiseAfterMs;
    const step = wasRaised ? 'keep' : isRaised ? 'raise' : 'wait';
    return { trouble: { sinceMs, calmSinceMs: null, isRaised }, step };
  }
  if (!trouble) return { trouble: null, step: 'wait' };
  const calmSinceMs = Math.min(trouble.calmSinceMs ?? nowMs, nowMs);
  if (nowMs - calmSinceMs < calmMs) return { trouble: { ...trouble, calmSinceMs }, step: 'wait' };
  return { trouble: null, step: trouble.isRaised ? 'end' : 'wait' };
}
