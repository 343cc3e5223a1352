/**
 * Records the results of attempts. Results that come together share one transaction, because the commit costs more than
 * they do. The next deliveries can be claimed in the same transaction.
 */
import { Fault } from '../core/fault.ts';
import type { Deliveries } from '../database/database.ts';
import type { RecordedAttempt } from '../database/sending.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';

/** Longest wait of a result for others. */
const GATHER_MS_MAX = 20;
/** Most results that are recorded together. */
const BATCH_MAX = 128;

type Waiting = Readonly<{ recorded: RecordedAttempt; settle: (saved: Promise<void>) => void }>;

type Recorder = Readonly<{
  /**
   * Records a result soon. Resolves once it is recorded, or once the database has refused it. A delivery with a refused
   * result is sent again when its lease has run out.
   */
  add(recorded: RecordedAttempt): Promise<void>;
  /** Returns the number of results that wait for others. */
  waiting(): number;
  /** Records the waiting results at once. */
  flush(): void;
}>;

type RecorderOptions = Readonly<{
  deliveries: Deliveries;
  clock: Clock;
  log: Log;
  /** Called when results are being recorded. A claim in the same turn of the event loop is committed with them. */
  onFlush(): void;
}>;

export function createRecorder({ deliveries, clock, log, onFlush }: RecorderOptions): Recorder {
  let gathered: Waiting[] = [];
  let gathering = new AbortController();

  function flush(): void {
    const batch = gathered;
    gathered = [];
    gathering.abort();
    if (batch.length === 0) return;
    const saved = save(batch.map(({ recorded }) => recorded));
    for (const { settle } of batch) settle(saved);
    onFlush();
  }

  async function flushLater(): Promise<void> {
    gathering = new AbortController();
    const { signal: isFlushed } = gathering;
    await clock.sleep(GATHER_MS_MAX, isFlushed);
    if (!isFlushed.aborted) flush();
  }

  async function save(results: readonly RecordedAttempt[]): Promise<void> {
    try {
      await deliveries.record(results);
    } catch (error) {
      if (!(error instanceof Fault) || error.kind !== 'transient') throw error;
      const deliveryIds = results.map(({ attempt }) => attempt.deliveryId);
      const line = { deliveryIds, code: error.code, error: error.message };
      log.error(line, 'could not record webhook attempts; the deliveries will be sent again');
    }
  }

  return {
    add(recorded) {
      return new Promise((settle) => {
        gathered.push({ recorded, settle });
        if (gathered.length >= BATCH_MAX) flush();
        else if (gathered.length === 1) void flushLater();
      });
    },
    waiting: () => gathered.length,
    flush,
  };
}
