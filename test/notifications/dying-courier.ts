/**
 * A program that sends notices from the SQLite file in its first argument and dies, as by `kill -9`, between the
 * service's answer and its record.
 */
import type { Database } from '../../src/database/database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createUrlGuard } from '../../src/lib/guard.ts';
import { openLog } from '../../src/lib/log.ts';
import { createCourier } from '../../src/notifications/courier.ts';
import { createSend } from '../../src/notifications/post.ts';
import { connectTo } from '../support/temp-database.ts';

const connected = connectTo(process.argv[2] ?? '');
const database: Database = {
  ...connected,
  alarms: { ...connected.alarms, settleNotice: async () => void process.kill(process.pid, 'SIGKILL') },
};
const send = createSend(createUrlGuard(['127.0.0.0/8']), systemClock);
const { signal } = new AbortController();
await createCourier({
  database,
  ways: { send, mail: null },
  clock: systemClock,
  log: openLog('dying', 'silent'),
  sender: 'x',
  signal,
}).look();
