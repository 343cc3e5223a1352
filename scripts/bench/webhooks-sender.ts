/**
 * Sends webhooks in a process of its own, until the parent disconnects. `dispatch FILE NAMES`: as the program does,
 * with the benchmark's name server. `raw URL COUNT CONCURRENT BODY`: the same headers and body by undici alone.
 */
import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { webhookHeaders } from '../../src/core/delivery.ts';
import { openSqliteDatabase } from '../../src/database/database.ts';
import { systemClock, toSeconds } from '../../src/lib/clock.ts';
import { createUrlGuard } from '../../src/lib/guard.ts';
import { openLog } from '../../src/lib/log.ts';
import { createResolver } from '../../src/lib/resolver.ts';
import { startDispatcher } from '../../src/webhooks/dispatcher.ts';
import { secretKey } from '../../test/support/temp-database.ts';

const PER_ENDPOINT_MAX = 16;

async function dispatch(file: string, names: string): Promise<void> {
  const database = openSqliteDatabase({ file, secretKey, busyTimeoutMs: 5_000, outageWaitS: 0 });
  const guard = createUrlGuard(['127.0.0.0/8'], createResolver({ servers: [names] }));
  await database.deliveries.endLeases('bench');
  const config = {
    allowCidrs: [],
    timeoutMs: 30_000,
    responseBytesMax: 65_536,
    perEndpointMax: PER_ENDPOINT_MAX,
    retryDelaysS: [120, 240],
  };
  startDispatcher({ database, config, holder: 'bench', clock: systemClock, log: openLog('bench', 'silent'), guard });
}

async function raw(url: string, count: number, concurrent: number, body: string): Promise<void> {
  const { origin, pathname } = new URL(url);
  const pool = new Pool(origin, { connections: concurrent, pipelining: 1 });
  const secret = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
  let left = count;
  async function post(): Promise<void> {
    while (left-- > 0) {
      const stamp = { timestampS: toSeconds(systemClock.nowMs()), nonce: randomUUID() };
      const event = { eventId: 'evt_1', eventType: 'payment.cancelled', mode: 'test', body } as const;
      const headers = webhookHeaders({ secret, nextSecret: null, ...event, ...stamp });
      const answer = await pool.request({ method: 'POST', path: pathname, headers, body });
      await answer.body.text();
    }
  }
  await Promise.all(Array.from({ length: concurrent }, post));
}

const [what, ...args] = process.argv.slice(2);
if (what === 'dispatch') await dispatch(args[0] ?? '', args[1] ?? '');
else if (what === 'raw') await raw(args[0] ?? '', Number(args[1]), Number(args[2]), args[3] ?? '');
if (what) {
  process.on('disconnect', () => process.kill(process.pid));
  process.send?.('ready');
}
