/**
 * A child for the supervisor's tests. It says that it is up, then does what its argument names: `die` ends with 1,
 * `serve` says that it is ready and ends with 1, `refuse` with 2, `stay` stays until SIGTERM, `stubborn` stays whatever
 * it is told.
 *
 * @module
 */
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
