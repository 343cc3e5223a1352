/**
 * Upgrades a client of an installed node to a program that is there already, or goes back to the one before.
 * @module
 */
import { copyFileSync, existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { systemClock } from '../../src/lib/clock.ts';
import { fetchRelease, releaseOf } from '../nodes/release-download.ts';
import type { Place } from '../nodes/service-files.ts';
import { NODES_DIR, type Service, servicesOf, UNIT_DIR } from '../nodes/services.ts';
import {
  compareUpgrade,
  replaceProgram,
  rollBack,
  type Swap,
  sha256Of,
  type Target,
  targetOf,
} from '../nodes/upgrade.ts';
import { dryRunOption, type Input, notFound, type OfflineCommand, textOption, usage } from './command.ts';
import { downloadOptions } from './node-install.ts';
import { readSpan } from './since.ts';

const WATCH = '30s';
const WATCH_MS_MAX = 3_600_000;

export const nodeUpgrade: OfflineCommand = {
  name: 'node upgrade',
  args: ['network', 'client'],
  summary: 'Replace the program of an installed client, and take it back if it does not stay up.',
  options: {
    program: { value: 'FILE', help: 'the new program, as its publisher ships it; its signature is yours to verify' },
    sha256: { value: 'HEX', help: 'what its publisher says its SHA-256 is' },
    'without-checksum': { help: 'accept a program without --sha256, because its signature was verified' },
    download: { value: 'VERSION', help: 'download this version instead of --program, and verify its signature' },
    mirror: { value: 'URL', help: 'a folder with the publisher’s files, instead of the publisher (with --download)' },
    rollback: { help: 'go back to the program before the last upgrade' },
    watch: { value: 'TIME', help: `how long it must stay up after the start (${WATCH})` },
    dir: { value: 'DIR', help: `the folder of all nodes (${NODES_DIR})` },
    'unit-dir': { value: 'DIR', help: `where its systemd units are (${UNIT_DIR})` },
    'dry-run': dryRunOption,
  },
  notes: [
    'Stops the client with the time that it needs. The old program is kept beside the new one (.previous), and a copy of',
    'the unit too. What a client changes in its database is not undone: some versions cannot go back.',
    'Exit codes: 0 it runs; 1 refused, or it did not stay up and the old program runs again; 2 wrong usage; 3 no such node.',
  ],
  async runOffline(input) {
    const { place, service } = readPlace(input);
    const target = targetOf(service, place);
    const watchMs = readSpan(input, 'watch', WATCH_MS_MAX, WATCH);
    const swap: Swap = { service, target, env: input.env, clock: systemClock, watchMs };
    const wanted = textOption(input, 'download');
    if (wanted !== undefined && (input.options.rollback || textOption(input, 'program') !== undefined))
      throw usage('--download cannot be combined with --program or --rollback');
    if (wanted !== undefined && input.options['dry-run']) {
      const { url } = releaseOf(service.recipe, { ...downloadOptions(input), version: wanted });
      return answer(input, service, { outcome: 'upgraded', why: null, path: target.path, to: wanted, url });
    }
    const file =
      wanted === undefined ? textOption(input, 'program') : await fetchVersion(input, service, target, wanted);
    if (input.options.rollback) {
      if (file !== undefined) throw usage('--program and --rollback cannot be combined');
      const why = input.options['dry-run'] ? null : await rollBack(swap);
      return answer(input, service, { outcome: why === null ? 'rolled back' : 'failed', why, path: target.path });
    }
    if (file === undefined) throw usage('--program is missing: the new program, or give --download');
    const path = resolve(input.cwd, file);
    if (!existsSync(path)) throw usage(`there is no ${path}`);
    if (wanted === undefined) await expectChecksum(input, path);
    const versions = await compareUpgrade(service, target, path);
    if (input.options['dry-run'])
      return answer(input, service, { outcome: 'upgraded', why: null, path: target.path, ...versions });
    const stamp = new Date(systemClock.nowMs()).toISOString().replaceAll(':', '-').replace(/\..*/, '');
    const unit = join(place.unitDir, service.unit);
    copyFileSync(unit, `${unit}.${stamp}.bak`);
    const why = await replaceProgram(swap, path);
    return answer(input, service, {
      outcome: why === null ? 'upgraded' : 'taken back',
      why,
      path: target.path,
      ...versions,
    });
  },
};

/** Downloads a version beside the program that it replaces. @returns its path @throws Fault permanent `usage` */
async function fetchVersion(input: Input, { recipe }: Service, target: Target, version: string): Promise<string> {
  if (!/^\d+(\.\d+)+$/.test(version)) throw usage(`--download is "${version}", expected a version such as 1.8.2`);
  const options = { ...downloadOptions(input), version };
  const path = `${target.path}-${version}`;
  await fetchRelease(releaseOf(recipe, options), path, options);
  return path;
}

type Ended = Readonly<{
  outcome: 'upgraded' | 'rolled back' | 'taken back' | 'failed';
  why: string | null;
  path: string;
  from?: string | null;
  to?: string | null;
  /** Where it would be downloaded from. */
  url?: string;
}>;

function answer(input: Input, { recipe }: Service, ended: Ended) {
  const { outcome, why, path, from, to, url } = ended;
  const isDry = input.options['dry-run'] === true;
  const versions = from && to ? ` (${from} → ${to})` : '';
  const next = `quayside node sync ${recipe.network}, then quayside node check ${recipe.network}`;
  return {
    json: { ...ended, dry_run: isDry },
    lines: [
      isDry ? `${path} would be ${outcome}${versions} (--dry-run)` : `${path}: ${outcome}${versions}`,
      ...(url ? [`with ${url}`] : []),
      ...(why === null ? [] : [why, `look at \`quayside node logs ${recipe.network}\``]),
      ...(why === null && !isDry ? [next] : []),
    ],
    isBad: why !== null,
  };
}

/** @throws Fault permanent `usage`, `not_found` */
function readPlace(input: Input): Readonly<{ place: Place; service: Service }> {
  const [network = '', client = ''] = input.args;
  const of = (name: string, fallback: string): string => resolve(input.cwd, textOption(input, name) ?? fallback);
  const unitDir = of('unit-dir', UNIT_DIR);
  const services = servicesOf(network, unitDir);
  const service = services.find(({ recipe }) => recipe.client === client);
  const known = services.map(({ recipe }) => recipe.client).join(', ');
  if (!service) throw notFound(`no ${client} of ${network} is installed, only ${known}`);
  return {
    service,
    place: { network, dir: join(of('dir', NODES_DIR), network), unitDir, user: '', checkpointUrl: null },
  };
}

/** @throws Fault permanent `usage` */
async function expectChecksum(input: Input, path: string): Promise<void> {
  const wanted = textOption(input, 'sha256')?.toLowerCase();
  if (wanted === undefined) {
    if (input.options['without-checksum']) return;
    throw usage('give --sha256 of the program, or --without-checksum once you have verified its signature');
  }
  const found = await sha256Of(path);
  if (found !== wanted)
    throw usage(`the sha256 of ${path} is ${found}, and not ${wanted}: get it again from its publisher`);
}
