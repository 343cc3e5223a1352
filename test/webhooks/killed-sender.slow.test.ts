/**
 * The long run: `KILL_SECONDS=300 npx tsx test/webhooks/killed-sender.slow.test.ts`.
 */
import { randomInt } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createRandom } from '../../src/sandbox/random.ts';
import { startMerchantServer } from '../support/merchant-server.ts';
import { inShop } from '../support/webhook-shop.ts';
import { runKilled } from './killed-sender.ts';

const SECONDS = Number(process.env.KILL_SECONDS ?? 6);
const EVENTS_PER_S = 100;

test(
  `killed at random for ${SECONDS} seconds, it delivers every event, with the same bytes and each session's in order`,
  inShop(async (shop) => {
    const seed = Number(process.env.SEED ?? randomInt(1_000_000));
    const dice = createRandom('killed sender', seed);
    const random = () => dice.int(1_000) / 1_000;
    const server = await startMerchantServer((response) => {
      setTimeout(() => response.writeHead(200).end(), random() * 40);
    });
    const extended = ['payment.detected', 'payment.partially_paid'] as const;
    await shop.addEndpoint(`${server.origin}/hook`, extended);
    const { kills, events } = await runKilled(shop, { ms: SECONDS * 1000, eventsPerS: EVENTS_PER_S, random });

    const context = `SEED=${seed}`;
    const bodies = new Map(events.map(({ id, body }) => [id, body]));
    const arrived = server.received.map(({ headers, body }) => ({ id: String(headers['x-service-event-id']), body }));
    assert.ok(events.length >= SECONDS * EVENTS_PER_S, `${events.length} events; ${context}`);
    assert.equal([...new Set(arrived.map(({ id }) => id))].sort(), [...bodies.keys()], `each arrived; ${context}`);
    assert.equal(
      arrived.filter(({ id, body }) => bodies.get(id) !== body),
      [],
      `the same bytes; ${context}`,
    );
    const newest = new Map<string, string>();
    const tooEarly = arrived.filter(({ id, body }) => {
      const session: string = JSON.parse(body).data.object.session_id;
      const before = newest.get(session) ?? '';
      newest.set(session, id);
      return id < before;
    });
    assert.equal(tooEarly, [], `in order; ${context}`);
    assert.ok(kills >= 2, `${kills} kills; ${context}`);
    process.stderr.write(`${events.length} events, ${arrived.length - events.length} sent again, ${kills} kills\n`);
    await server.close();
  }),
);

test.run();
