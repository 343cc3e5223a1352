/**
 * Indexer of one EVM network: `tsx indexers/evm.ts test:ethereum`. The supervisor (`npm start`) runs one for each
 * configured network.
 */
import '../src/lib/runtime.ts';
import { openDatabase } from '../src/app/open-database.ts';
import { runIndexer } from './run.ts';

process.exitCode = await runIndexer({
  family: 'evm',
  network: process.argv[2],
  env: process.env,
  cwd: process.cwd(),
  openDatabase,
});
