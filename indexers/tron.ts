/**
 * Indexer of one TRON network: `tsx indexers/tron.ts test:tron`. The supervisor (`npm start`) runs one for each
 * configured network.
 */
import '../src/lib/runtime.ts';
import { openDatabase } from '../src/app/open-database.ts';
import { runIndexer } from './run.ts';

process.exitCode = await runIndexer({
  family: 'tron',
  network: process.argv[2],
  env: process.env,
  cwd: process.cwd(),
  openDatabase,
});
