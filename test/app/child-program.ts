/**
 * A child for the supervisor's tests. It reports that it has started, then does what its argument names: `die` ends
 * with 1, `serve` reports ready and ends with 1, `refuse` ends with 2, `stay` runs until SIGTERM, `stubborn` ignores
 * signals, `settings` reports what it was given and ends with 2.
 */
import { runProgram } from '../../src/app/program.ts';
import { permanent } from '../../src/core/fault.ts';

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
process.send?.({ up: true, pid: process.pid, ready: behaviour === 'serve' }, undefined, undefined, () => {
  const code = exitCodes.get(behaviour);
  if (code !== undefined) process.exit(code);
});
if (behaviour === 'settings') {
  await runProgram('settings', async ({ config }) => {
    process.send?.({ given: config });
    throw permanent('ended', 'it was given what it needs');
  });
}
