/**
 * A program that delivers webhooks from the SQLite file in its first argument and dies, as by `kill -9`, between the
 * receiver's answer and its record.
 */

import type { Database } from '../../src/database/database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import { startDispatcher } from '../../src/webhooks/dispatcher.ts';
import { connectTo } from '../support/temp-database.ts';
import { webhookConfig } from '../support/webhook-shop.ts';

const opened: Database = connectTo(process.argv[2] ?? '');
const deliveries = { ...opened.deliveries, record: async () => void process.kill(process.pid, 'SIGKILL') };
const database = { ...opened, deliveries };
const log = openLog('dying', 'silent');
startDispatcher({ database, holder: 'dying', config: webhookConfig, clock: systemClock, log });
