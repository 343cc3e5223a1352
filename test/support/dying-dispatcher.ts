/**
 * A program that delivers webhooks from the SQLite file in its first argument and dies, as by `kill -9`, in the moment between the
 * receiver's answer and the record of it.
 * @module
 */
import { systemClock } from '../../src/clock.ts';
import { openLog } from '../../src/log.ts';
import type { Store } from '../../src/store/store.ts';
import { startDispatcher } from '../../src/webhooks/dispatcher.ts';
import { connectTo } from './temp-store.ts';
import { webhookConfig } from './webhook-shop.ts';

const store: Store = {
  ...connectTo(process.argv[2] ?? ''),
  recordAttempt: async () => void process.kill(process.pid, 'SIGKILL'),
};
startDispatcher({ store, config: webhookConfig, clock: systemClock, log: openLog('dying', 'silent') });
