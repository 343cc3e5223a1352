/**
 * A program that sends one POST through the guarded sender to the URL in its first argument and prints the result as
 * JSON. Trust in certificate authorities is fixed when a process starts, hence a separate process.
 */
import { systemClock } from '../../src/lib/clock.ts';
import { createUrlGuard } from '../../src/lib/guard.ts';
import { createSender } from '../../src/lib/sender.ts';

const guard = createUrlGuard(['127.0.0.0/8']);
const sender = createSender(guard, { timeoutMs: 10_000, responseBytesMax: 1_000 }, systemClock);
const sent = await sender.send({ url: process.argv[2] ?? '', mode: 'live', headers: () => ({}), body: '{}' });
process.stdout.write(JSON.stringify(sent?.outcome));
