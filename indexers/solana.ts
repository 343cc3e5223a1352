/**
 * Indexer of one Solana network: `tsx indexers/solana.ts test:solana`. The supervisor (`npm start`) runs one for each
 * configured network.
 */
import '../src/lib/runtime.ts';
import { runIndexer } from './run.ts';

await runIndexer('solana', process.argv[2]);
