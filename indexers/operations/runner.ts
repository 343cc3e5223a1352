/**
 * Does what operators ask for in the dashboard, one operation after the other: claims a row, works, writes the result.
 * @module
 */
import { Fault, permanent } from '../../src/core/fault.ts';
import { timeMsMaxOf } from '../../src/core/operation.ts';
import type { Operation } from '../../src/database/operations.ts';
import { every, type Round } from '../../src/lib/every.ts';
import type { Log } from '../../src/lib/log.ts';
import type { WorkParts } from './parts.ts';
import { doOperation } from './work.ts';

const POLL_MS = 1000;
const REPORT_MS = 1000;

type RunnerParts = Omit<WorkParts, 'report' | 'signal'> &
  Readonly<{
    log: Pick<Log, 'warn' | 'info'>;
    /** Another one for each process. */
    runner: string;
  }>;

/**
 * Works until the signal aborts. What is in progress then is found by the next process.
 * @throws anything but faults of the nodes, the signer and the database
 */
export function runOperations(parts: RunnerParts, signal: AbortSignal): Promise<void> {
  const { network, database, clock, log, runner } = parts;
  const lookForOne = async (): Promise<Round> => {
    const operation = await database.claimOperation(network.key, runner, clock.nowMs());
    if (!operation) return undefined;
    await perform(parts, operation, signal);
    return 'again';
  };
  return every(POLL_MS, lookForOne, { clock, log, signal, what: 'doing operations' });
}

async function perform(parts: RunnerParts, operation: Operation, stopping: AbortSignal): Promise<void> {
  const { database, clock, log, runner } = parts;
  const { id, wish } = operation;
  const worker = () => ({ id, runner, nowMs: clock.nowMs() });
  const ending = new AbortController();
  const end = () => ending.abort();
  stopping.addEventListener('abort', end, { once: true });
  let reportedAtMs = 0;
  const report = (progress: string) => {
    if (clock.nowMs() < reportedAtMs + REPORT_MS) return;
    reportedAtMs = clock.nowMs();
    // Progress is only shown: what it says next second is as good.
    database.reportOperation(worker(), progress).catch(() => {});
  };
  const limitMs = timeMsMaxOf(wish);
  const timeUp = clock.sleep(limitMs, ending.signal).then((): never => {
    throw permanent(
      'too_long',
      `it took longer than ${limitMs / 60_000} minutes and was ended; look at what it has done`,
    );
  });
  const work = doOperation({ ...parts, report, signal: ending.signal }, operation);
  // Whichever comes second has nobody who waits for it.
  for (const one of [timeUp, work]) one.catch(() => {});
  try {
    const result = await Promise.race([work, timeUp]);
    await database.endOperation(worker(), 'done', result);
  } catch (error) {
    if (stopping.aborted) return;
    if (!(error instanceof Fault)) throw error;
    log.warn({ code: error.code, error: error.message, id }, 'an operation failed');
    await database.endOperation(worker(), 'failed', { lines: [`${error.message}.`] });
  } finally {
    stopping.removeEventListener('abort', end);
    ending.abort();
  }
}
