/**
 * A program that does the operations of a network: `file` `signer folder` `node URL`. The test kills it.
 *
 * @module
 */
import { runOperations } from '../../indexers/operations/runner.ts';
import { chains } from '../../src/chains/index.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import { openConfiguredSigner } from '../../src/signer/client.ts';
import { connectTo } from './temp-database.ts';
import { testNetwork } from './test-network.ts';

const [file = '', dir = '', url = ''] = process.argv.slice(2);
await runOperations(
  {
    network: testNetwork({ name: 'one', url }),
    chain: chains.evm,
    database: connectTo(file),
    signer: openConfiguredSigner({ dir }),
    clock: systemClock,
    log: openLog('dying', 'silent'),
    runner: String(process.pid),
  },
  new AbortController().signal,
);
