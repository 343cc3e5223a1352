/**
 * Indexer of one EVM network: `tsx indexers/evm.ts test:ethereum`. The supervisor (`npm start`) runs one for each
 * configured network.
 */
import '../src/lib/runtime.ts';
import { runIndexer } from './run.ts';

await runIndexer('evm', process.argv[2]);
