/**
 * Indexer of one TRON network: `tsx indexers/tron.ts test:tron`. The supervisor (`npm start`) runs one for each
 * configured network.
 */
import '../src/lib/runtime.ts';
import { runIndexer } from './run.ts';

await runIndexer('tron', process.argv[2]);
