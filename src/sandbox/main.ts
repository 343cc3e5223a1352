/**
 * The sandbox program: simulated networks on loopback for `npm start` without real nodes. The supervisor starts it
 * first and waits for its `ready` message. It reads the ordinary configuration and serves those of its networks that
 * are simulated.
 *
 * Exit codes: see `runProgram`; 1 also if a network cannot mine any more.
 */

import '../lib/runtime.ts';
import { existsSync } from 'node:fs';
import { runProgram } from '../app/program.ts';
import type { Config } from '../config/config.ts';
import { transient } from '../core/fault.ts';
import { aborted, systemClock } from '../lib/clock.ts';
import { signerFiles } from '../signer/files.ts';
import { openSandbox } from './sandbox.ts';

/** Creates the sandbox's signer at the first start, unless the operator's own is configured. */
async function ensureSigner(config: Config): Promise<void> {
  const { signer, sandbox } = config;
  if (!sandbox || signer?.unlock.kind !== 'file' || existsSync(signerFiles(signer.dir).keystore)) return;
  // Loaded only here: it has the signer's whole setup, for which later starts need no memory.
  const { makeSandboxSigner } = await import('./operator/signer.ts');
  await makeSandboxSigner(config, signer.dir, signer.unlock.path);
}

await runProgram('sandbox', async ({ config, log, signal }) => {
  await ensureSigner(config);
  const broken = new AbortController();
  const sandbox = await openSandbox({
    dataDir: config.dataDir,
    networks: config.networks.filter((network) => network.sandbox),
    clock: systemClock,
    onFault(network, error) {
      log.fatal({ err: error, network }, 'no more blocks can be mined');
      broken.abort();
    },
  });
  const { networks } = sandbox.details;
  log.info({ networks }, 'the sandbox is ready');
  process.send?.({ ready: true, networks });
  await aborted(AbortSignal.any([signal, broken.signal]));
  log.info('the sandbox is stopping');
  // Every block was written when it was mined, so nothing needs saving; open connections are closed.
  await sandbox.close();
  if (broken.signal.aborted) throw transient('sandbox_broken', 'a simulated network stopped');
});
