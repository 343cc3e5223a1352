/**
 * `npm start`: the supervisor. It prepares the data directory, runs the sandbox and the signer (if they are
 * configured), the server and one indexer for each network in their own processes, and keeps them running until SIGTERM
 * or SIGINT.
 *
 * Standard output has messages for people, standard error the JSON log of every process.
 * Exit codes: 0 stopped as requested; 2 the configuration, database or port prevents a start.
 */
import './lib/runtime.ts';
import { Fault } from './core/fault.ts';

const EXIT_CANNOT_START = 2;

try {
  // Not above: on a Node that is too old, its packages would end this process before `runtime.ts` says why.
  const { runInstallation } = await import('./app/installation.ts');
  await runInstallation();
} catch (error) {
  if (!(error instanceof Fault)) throw error;
  process.stderr.write(`quayside: ${error.message}\n`);
  process.exitCode = EXIT_CANNOT_START;
}
