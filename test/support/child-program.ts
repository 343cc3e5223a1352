/**
 * A child for the supervisor's tests. It reports that it has started, then does what its argument names: `die` ends
 * with 1, `serve` reports ready and ends with 1, `refuse` ends with 2, `stay` runs until SIGTERM, `stubborn` ignores
 * signals, `early` reports whether it may start and ends.
 *
 * @module
 */
import { mayStart } from '../../src/lib/start-signal.ts';

const [behaviour = ''] = process.argv.slice(2);
const exitCodes = new Map([
  ['die', 1],
  ['serve', 1],
  ['refuse', 2],
]);

process.on('SIGTERM', () => {
  if (behaviour === 'stay') process.exit(0);
});
process.on('disconnect', () => process.exit(0));
process.send?.({ up: true, ready: behaviour === 'serve', setting: process.env.SETTING }, undefined, undefined, () => {
  const code = exitCodes.get(behaviour);
  if (code !== undefined) process.exit(code);
});
if (behaviour === 'early') {
  const stopping = new AbortController();
  process.on('SIGTERM', () => stopping.abort());
  const begins = await mayStart(process.env, stopping.signal);
  process.send?.({ begins }, undefined, undefined, () => process.exit(begins ? 2 : 0));
}
