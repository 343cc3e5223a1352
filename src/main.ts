/**
 * `npm start`: the supervisor. It prepares the data directory, runs the sandbox and the signer (if they are
 * configured), the server and one indexer for each network in their own processes, and keeps them running until SIGTERM
 * or SIGINT.
 *
 * Standard output has messages for people, standard error the JSON log of every process.
 * Exit codes: 0 stopped as requested; 2 the configuration, database or port prevents a start.
 */
import './lib/runtime.ts';
import { forkProgram } from './app/fork-program.ts';
import { Fault } from './core/fault.ts';
import { refuseStaleBuild } from './lib/build-stamp.ts';

const EXIT_CANNOT_START = 2;

try {
  refuseStaleBuild();
  // It loads its modules while this process loads its own, reads the configuration and prepares the database.
  const server = forkProgram({ module: new URL('./server.ts', import.meta.url), env: process.env, isEarly: true });
  try {
    const { runInstallation } = await import('./app/installation.ts');
    await runInstallation(server);
  } finally {
    // If nothing has taken it over, it is still waiting, and ends.
    if (server.connected) server.disconnect();
  }
} catch (error) {
  if (!(error instanceof Fault)) throw error;
  process.stderr.write(`quayside: ${error.message}\n`);
  process.exitCode = EXIT_CANNOT_START;
}
