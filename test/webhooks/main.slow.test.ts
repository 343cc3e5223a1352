/**
 * The program that sends webhooks, started as the supervisor does.
 */
import { once } from 'node:events';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { startSender } from '../support/killed-sender.ts';
import { startMerchantServer } from '../support/merchant-server.ts';
import { until } from '../support/until.ts';
import { inShop } from '../support/webhook-shop.ts';

test(
  'it retires the URLs that no session has named for long, and no others',
  inShop(async (shop) => {
    const server = await startMerchantServer((response) => void response.writeHead(200).end());
    await shop.addEndpoint(`${server.origin}/standing`);
    for (const name of ['old', 'new']) await shop.cancelOne(`${server.origin}/${name}`);
    const client = new Sqlite(shop.file);
    const age = client.prepare('UPDATE endpoints SET last_event_at_ms = last_event_at_ms - :ms WHERE url <> :but');
    age.run({ ms: 31 * DAY_MS, but: `${server.origin}/new` });
    client.close();
    const urls = async () =>
      (await shop.database.endpoints.list(null)).map(({ url }) => url.slice(server.origin.length));
    assert.equal((await urls()).sort(), ['/new', '/old', '/standing']);
    const program = startSender(shop.file);
    await until('the old one is retired', async () => !(await urls()).includes('/old'));
    assert.equal((await urls()).sort(), ['/new', '/standing']);
    program.kill('SIGTERM');
    assert.is((await once(program, 'exit'))[0], 0);
    await server.close();
  }),
);

test.run();
