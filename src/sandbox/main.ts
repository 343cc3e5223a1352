/**
 * The sandbox program: simulated networks on loopback for `npm start` without real nodes. The supervisor starts it
 * first and waits for its `ready` message; it ends on request, or when the supervisor has exited. It reads the ordinary
 * configuration and serves those of its networks that are simulated.
 *
 * Exit codes: 0 stopped as requested; 1 a network cannot mine any more; 2 the configuration or a file of an earlier run
 * does not allow a start.
 */

import '../lib/runtime.ts';
import { existsSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { openConfig } from '../config/given-config.ts';
import { Fault } from '../core/fault.ts';
import { systemClock } from '../lib/clock.ts';
import { giveSignsOfLife } from '../lib/heartbeat.ts';
import { type Log, openLog } from '../lib/log.ts';
import { awaitStart } from '../lib/start-signal.ts';
import { signerFiles } from '../signer/files.ts';
import { openSandbox, type Sandbox } from './sandbox.ts';

let log: Log = openLog('sandbox', 'info');
let sandbox: Sandbox | null = null;
let ending = false;
const living = new AbortController();

/** Every block was written when it was mined, so nothing needs saving at the end; open connections are closed. */
async function end(why: string, exitCode: number): Promise<void> {
  if (ending) return;
  ending = true;
  living.abort();
  log.info({ why }, 'the sandbox is stopping');
  await sandbox?.close();
  process.exit(exitCode);
}

/** Creates the sandbox's signer at the first start, unless the operator's own is configured. */
async function ensureSigner(config: Config): Promise<void> {
  const { signer, sandbox } = config;
  if (!sandbox || signer?.unlock.kind !== 'file' || existsSync(signerFiles(signer.dir).keystore)) return;
  // Loaded only here: it has the signer's whole setup, for which later starts need no memory.
  const { makeSandboxSigner } = await import('./operator/signer.ts');
  await makeSandboxSigner(config, signer.dir, signer.unlock.path);
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => end(signal, 0));
process.on('disconnect', () => end('the supervisor has exited', 0));

try {
  const start = await awaitStart(process.env, living.signal);
  if (!start) process.exit(0);
  const from = { env: process.env, cwd: process.cwd(), beforeSandbox: true };
  const config = await openConfig(start.given, from);
  log = openLog('sandbox', config.logLevel);
  await ensureSigner(config);
  sandbox = await openSandbox({
    dataDir: config.dataDir,
    networks: config.networks.filter((network) => network.sandbox),
    clock: systemClock,
    onFault(network, error) {
      log.fatal({ err: error, network }, 'no more blocks can be mined');
      end('a network stopped', 1);
    },
  });
  const { networks } = sandbox.details;
  log.info({ networks }, 'the sandbox is ready');
  process.send?.({ ready: true, networks });
  void giveSignsOfLife(living.signal);
} catch (error) {
  if (!(error instanceof Fault)) throw error;
  log.fatal({ code: error.code }, error.message);
  const exit = () => process.exit(error.kind === 'permanent' ? 2 : 1);
  // The supervisor must get the reason before the channel closes.
  if (process.send) process.send({ fault: { code: error.code, message: error.message } }, undefined, undefined, exit);
  else exit();
}
