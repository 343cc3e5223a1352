/**
 * The sandbox program: simulated networks on loopback for `npm start` without real nodes. The supervisor starts it first and waits for
 * its `ready` message; it ends when told to, or when the supervisor is gone.
 *
 *   QUAYSIDE_DATA_DIR   where sandbox.json and the chains live (default `data`)
 * @module
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../clock.ts';
import { Fault } from '../core/fault.ts';
import { openLog } from '../log.ts';
import { openSandbox, readSandboxNetworks, type Sandbox } from './sandbox.ts';

const log = openLog('sandbox', process.env.QUAYSIDE_LOG_LEVEL ?? 'info');
const dataDir = process.env.QUAYSIDE_DATA_DIR ?? 'data';
const networksFolder = join(fileURLToPath(new URL('../..', import.meta.url)), 'config', 'networks');

let sandbox: Sandbox | null = null;
let ending = false;

/** Every block was written when it was mined, so ending needs no saving; open connections are closed. */
async function end(why: string, exitCode: number): Promise<void> {
  if (ending) return;
  ending = true;
  log.info({ why }, 'sandbox ends');
  await sandbox?.close();
  process.exit(exitCode);
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => end(signal, 0));
process.on('disconnect', () => end('the supervisor is gone', 0));

try {
  sandbox = await openSandbox({
    dataDir,
    networks: readSandboxNetworks(networksFolder),
    clock: systemClock,
    onFault(network, error) {
      log.fatal({ err: error, network }, 'no more blocks can be mined');
      end('a network stopped', 1);
    },
  });
} catch (error) {
  if (!(error instanceof Fault)) throw error;
  log.fatal(error.message);
  process.exit(1);
}

const { networks } = sandbox.details;
log.info({ networks }, 'sandbox is ready');
process.send?.({ ready: true, networks });
