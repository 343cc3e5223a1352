/**
 * The configuration of a program that the supervisor starts. It comes with the start, so that the program does not
 * load what reads and checks settings: a tenth of a second and 8 MB in each process.
 */
import { deepFreeze } from '../lib/deep-freeze.ts';
import type { Config } from './config.ts';

/**
 * @param given what came with the start; undefined in a program that was started by hand, which reads the settings
 * @throws Fault permanent: see `loadConfig`
 */
export async function openConfig(
  given: unknown,
  from: Readonly<{ env: NodeJS.ProcessEnv; cwd: string; beforeSandbox?: boolean }>,
): Promise<Config> {
  if (given !== undefined) return deepFreeze(given as Config);
  const { loadConfig } = await import('./config.ts');
  return loadConfig(from);
}
