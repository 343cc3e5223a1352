/**
 * Payers who look at a payment page at a steady rate, while something else goes on.
 * @module
 */
import { systemClock } from '../../src/lib/clock.ts';

const PAYERS_PAGES = 420;
const PAYER_EVERY_MS = 20;

let looks = 0;
/** Each request comes from another address: what is measured is not the limit. */
export const asAnother = () => ({ 'x-forwarded-for': `10.1.${Math.floor(looks / 250) % 250}.${1 + (looks++ % 250)}` });

/** Requests a payer's page at a steady rate. @returns ms of each, from when it was due */
export async function payersPages(url: string): Promise<number[]> {
  const startedAtMs = performance.now();
  const times = Array.from({ length: PAYERS_PAGES }, async (_, at) => {
    const dueAtMs = startedAtMs + at * PAYER_EVERY_MS;
    await systemClock.sleep(Math.max(0, dueAtMs - performance.now()));
    const look = () => fetch(url, { headers: asAnother() });
    // The server may close a kept connection at the moment that it is used again; browsers ask once more, too.
    await (await look().catch(look)).arrayBuffer();
    return performance.now() - dueAtMs;
  });
  return Promise.all(times);
}
