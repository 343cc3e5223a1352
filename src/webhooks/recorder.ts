/**
 * Records the results of attempts. Results that come together share one transaction, because its flush costs more than
 * they do. The next deliveries can be claimed in the same transaction.
 */
import { Fault } from '../core/fault.ts';
import type { Sending } from '../database/database.ts';
import type { RecordedAttempt } from '../database/sending.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';

/** A result waits at most this long for others. */
const GATHER_MS_MAX = 20;
/** Results that are recorded together, at most. */
const BATCH_MAX = 128;
const RETRY_MS_MIN = 50;
const RETRY_MS_MAX = 2_000;

type Waiting = Readonly<{
  recorded: RecordedAttempt;
  resolve: () => void;
  reject: (error: unknown) => void;
}>;

type Recorder = Readonly<{
  /**
   * Records a result soon, and retries while the database is unavailable. Resolves once it is recorded, or given up
   * because its lease has run out: then the delivery is sent again.
   */
  add(recorded: RecordedAttempt): Promise<void>;
  /** Returns how many wait for others. */
  waiting(): number;
  /** Records at once what waits for others. */
  flush(): void;
}>;

type RecorderOptions = Readonly<{
  sending: Sending;
  clock: Clock;
  log: Log;
  /** Nothing is retried once it aborts. */
  signal: AbortSignal;
  /** Called when results are being recorded: a claim in the same turn of the event loop is committed with them. */
  onFlush(): void;
}>;

export function createRecorder({ sending, clock, log, signal, onFlush }: RecorderOptions): Recorder {
  let gathered: Waiting[] = [];
  let gathering = new AbortController();

  function flush(): void {
    const batch = gathered;
    gathered = [];
    gathering.abort();
    if (batch.length === 0) return;
    void save(batch);
    onFlush();
  }

  async function flushLater(): Promise<void> {
    gathering = new AbortController();
    const { signal: isFlushed } = gathering;
    await clock.sleep(GATHER_MS_MAX, isFlushed);
    if (!isFlushed.aborted) flush();
  }

  async function save(batch: readonly Waiting[]): Promise<void> {
    let left = batch;
    try {
      for (let waitMs = RETRY_MS_MIN; left.length > 0; waitMs = Math.min(2 * waitMs, RETRY_MS_MAX)) {
        const fault = await trySaving(left.map(({ recorded }) => recorded));
        if (!fault) {
          for (const { resolve } of left) resolve();
          return;
        }
        left = left.filter((one) => mayRetry(one, fault, waitMs));
        if (left.length > 0) await clock.sleep(waitMs, signal);
      }
    } catch (error) {
      for (const { reject } of left) reject(error);
    }
  }

  async function trySaving(recorded: readonly RecordedAttempt[]): Promise<Fault | null> {
    try {
      await sending.record(recorded);
      return null;
    } catch (error) {
      if (error instanceof Fault && error.kind === 'transient') return error;
      throw error;
    }
  }

  /** Gives up what cannot be recorded within its lease. */
  function mayRetry({ recorded, resolve }: Waiting, fault: Fault, waitMs: number): boolean {
    const line = { deliveryId: recorded.attempt.deliveryId, code: fault.code, error: fault.message };
    if (clock.nowMs() + waitMs >= recorded.leaseUntilMs || signal.aborted) {
      log.error(line, 'could not record a webhook attempt; the delivery will be sent again');
      resolve();
      return false;
    }
    log.warn(line, 'could not record a webhook attempt; retrying');
    return true;
  }

  return {
    add(recorded) {
      return new Promise((resolve, reject) => {
        gathered.push({ recorded, resolve, reject });
        if (gathered.length >= BATCH_MAX) flush();
        else if (gathered.length === 1) void flushLater();
      });
    },
    waiting: () => gathered.length,
    flush,
  };
}
