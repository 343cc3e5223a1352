/**
 * The systemd services of a node that `node install` wrote.
 * @module
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { permanent } from '../../src/core/fault.ts';
import { type ClientRecipe, readClients } from './recipe.ts';
import { unitName } from './service-files.ts';

/** Where nodes and their units are, unless an option says otherwise. */
export const NODES_DIR = '/srv/quayside-nodes';
export const UNIT_DIR = '/etc/systemd/system';
/** systemd itself needs a moment beyond what a client has. */
const SPARE_MS = 60_000;
const ANSWER_BYTES_MAX = 16 << 20;
const ANSWER_MS_MAX = 60_000;

export type Service = Readonly<{ unit: string; recipe: ClientRecipe }>;

/**
 * Returns the services of a network, in the order in which they start and stop: what executes blocks comes first.
 * @throws Fault permanent `not_found`
 */
export function servicesOf(network: string, unitDir: string): readonly Service[] {
  const found = readClients(network)
    .map((recipe) => ({ unit: unitName(network, recipe.client), recipe }))
    .filter(({ unit }) => existsSync(join(unitDir, unit)));
  if (found.length > 0) return found;
  throw permanent(
    'not_found',
    `no node of "${network}" is installed in ${unitDir}: see \`quayside node install --help\``,
  );
}

/**
 * Runs a program of systemd.
 * @param msMax ends it after so long
 * @throws Fault permanent `systemd_failed` with what it said
 */
export function runSystemd(words: readonly string[], env: NodeJS.ProcessEnv, msMax = ANSWER_MS_MAX): Promise<string> {
  const [program = '', ...args] = words;
  const options = { env, timeout: msMax, maxBuffer: ANSWER_BYTES_MAX };
  return new Promise((resolve, reject) => {
    execFile(program, args, options, (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      const said = stderr.trim() || error.message;
      reject(
        permanent(
          'systemd_failed',
          `\`${words.join(' ')}\` failed: ${said}. Run it as root, and look at its log`,
          error,
        ),
      );
    });
  });
}

/** Starts or stops a service, and waits as long as its client may take. @throws Fault permanent `systemd_failed` */
export const changeService = (
  { unit, recipe }: Service,
  verb: 'start' | 'stop',
  env: NodeJS.ProcessEnv,
): Promise<string> => runSystemd(['systemctl', verb, unit], env, recipe.stop_s * 1000 + SPARE_MS);

/** What systemd says of a service. `restarts` since it was started by a person. */
export type ServiceState = Readonly<{
  unit: string;
  state: string;
  result: string;
  pid: number;
  restarts: number;
  since: string;
}>;

export async function readState({ unit }: Service, env: NodeJS.ProcessEnv): Promise<ServiceState> {
  const names = ['ActiveState', 'SubState', 'Result', 'MainPID', 'NRestarts', 'ActiveEnterTimestamp'];
  const text = await runSystemd(['systemctl', 'show', unit, '-p', names.join(',')], env);
  const values = new Map(text.split('\n').map((line) => [line.split('=')[0], line.slice(line.indexOf('=') + 1)]));
  const of = (name: string): string => values.get(name) ?? '';
  return {
    unit,
    state: `${of('ActiveState')} (${of('SubState')})`,
    result: of('Result'),
    pid: Number(of('MainPID') || 0),
    restarts: Number(of('NRestarts') || 0),
    since: of('ActiveEnterTimestamp'),
  };
}
