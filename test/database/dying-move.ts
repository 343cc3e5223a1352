/**
 * A program that moves the installation of `QUAYSIDE_CONFIG` to the URL in its first argument, and dies as by `kill -9`
 * at the table in its second.
 */
import { moveDatabase } from '../../src/app/database-move.ts';
import { loadConfig } from '../../src/config/config.ts';

const [to = '', at] = process.argv.slice(2);

await moveDatabase({
  config: loadConfig({ env: process.env, cwd: process.cwd() }),
  to,
  isRehearsal: false,
  onProgress({ table }) {
    if (table === at) process.kill(process.pid, 'SIGKILL');
  },
});
