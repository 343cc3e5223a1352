/**
 * Writes the configuration and systemd units of a node. Downloads nothing and starts nothing.
 * @module
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { systemClock } from '../../src/lib/clock.ts';
import { composeCommands, composeFiles, urlInside } from '../nodes/compose-file.ts';
import { changesOf, findProgram, nextCommands, ownedPaths, requireFiles, writeInstallation } from '../nodes/install.ts';
import { type ClientRecipe, readClients, readRecipes } from '../nodes/recipe.ts';
import { fetchRelease, releaseOf } from '../nodes/release-download.ts';
import { fill, needsCheckpoint, type Place, serviceFiles } from '../nodes/service-files.ts';
import { NODES_DIR, UNIT_DIR } from '../nodes/services.ts';
import { dryRunOption, type Input, notFound, type OfflineCommand, textOption, usage } from './command.ts';

const USER = 'quayside-node';

/** @throws Fault permanent `usage` */
export function downloadOptions(input: Input) {
  const mirror = textOption(input, 'mirror') ?? null;
  if (mirror !== null && !(URL.canParse(mirror) && /^https?:$/.test(new URL(mirror).protocol)))
    throw usage('--mirror is not an http:// or https:// URL');
  return { mirror, arch: process.arch, env: input.env, clock: systemClock };
}

export const nodeInstall: OfflineCommand = {
  name: 'node install',
  args: ['network'],
  summary: 'Write the configuration and systemd units, or a compose file, of a node. Starts nothing.',
  options: {
    clients: { value: 'A,B', help: 'which clients (default: the first of the recipes, such as geth,lighthouse)' },
    dir: { value: 'DIR', help: `the folder of all nodes; this one gets a folder in it (${NODES_DIR})` },
    bin: { value: 'DIR', help: 'where the clients’ programs are (default: bin in --dir), besides PATH' },
    'checkpoint-url': { value: 'URL', help: 'a beacon node that is trusted at the first start (consensus clients)' },
    user: { value: 'NAME', help: `the user that the clients run as (${USER})` },
    download: { help: 'download programs that are missing, where a recipe knows who signs them, and verify that' },
    mirror: { value: 'URL', help: 'a folder with the publisher’s files, instead of the publisher (with --download)' },
    compose: { help: 'write a compose.yaml with pinned images instead of systemd units' },
    'unit-dir': { value: 'DIR', help: `where systemd units are written (${UNIT_DIR})` },
    'dry-run': dryRunOption,
  },
  notes: [
    'Programs must be there already, or come with --download: their signature is verified with gpg, by the key that the',
    'recipe names and that your keyring must have. An interrupted download goes on with the next run. Shows each file that changes, keeps a copy of what it replaces, and prints',
    'the commands that are left to you. Exit codes: 0 written or nothing to change, 1 refused, 2 wrong usage.',
  ],
  async runOffline(input) {
    const { place, recipes, binDir } = readPlan(input);
    const inContainers = input.options.compose === true;
    const isDry = input.options['dry-run'] === true;
    const downloads = input.options.download ? missingOf(input, place, recipes, binDir) : [];
    if (!isDry) for (const { release, path, options } of downloads) await fetchRelease(release, path, options);
    const planned = isDry ? downloads : [];
    const find = async (recipe: ClientRecipe) => {
      const own = planned.find(({ client }) => client === recipe.client && !recipe.upgraded_file);
      return [recipe.client, own?.path ?? (await findProgram(recipe, binDir, input.env.PATH ?? ''))] as const;
    };
    const programs = new Map(inContainers ? [] : await Promise.all(recipes.map(find)));
    requireFiles(
      place,
      recipes,
      planned.map(({ path }) => path),
    );
    const changes = changesOf(inContainers ? composeFiles(place, recipes) : serviceFiles(place, recipes, programs));
    const stamp = new Date(systemClock.nowMs()).toISOString().replaceAll(':', '-').replace(/\..*/, '');
    const copies = isDry ? [] : writeInstallation(place, recipes, changes, stamp);
    const next = inContainers
      ? composeCommands(place, recipes, ownedPaths(place, recipes))
      : nextCommands(place, recipes, programs);
    const serving = recipes.find((recipe) => recipe.url);
    const url = (inContainers && serving ? urlInside(serving) : serving?.url) ?? null;
    const files = changes.map(({ path, diff }) => ({ path, diff }));
    return {
      json: {
        network: place.network,
        clients: recipes.map(({ client }) => client),
        written: !isDry,
        files,
        copies,
        downloads: downloads.map(({ client, path, release }) => ({ client, path, ...release })),
        next,
        url,
      },
      lines: [
        ...files.flatMap(({ path, diff }) => [path, ...diff, '']),
        ...downloads.map(
          ({ path, release }) =>
            `${path}: ${isDry ? 'would be downloaded' : `downloaded, and signed by ${release.fingerprint}`} (${release.url})`,
        ),
        ...recipes.map(inContainers ? imageLine : originLine),
        '',
        ...(files.length === 0 ? ['every file is as it should be'] : []),
        ...(isDry
          ? ['nothing was written (--dry-run)']
          : ['left to you, as root:', ...next.map((line) => `  ${line}`)]),
        ...(url
          ? [
              `then: quayside node sync ${place.network} --url ${url}, and quayside node connect ${place.network} ${url}`,
            ]
          : []),
      ],
    };
  },
};

/** Returns the downloads of what is not there. */
function missingOf(input: Input, place: Place, recipes: readonly ClientRecipe[], binDir: string) {
  return recipes.flatMap((recipe) => {
    const { client, upgraded_file: file, program, version, download } = recipe;
    const path = file ? fill(file, place, recipe) : join(binDir, program);
    // What is no image brings its program along; the others are in theirs.
    const isWanted = file !== undefined || !input.options.compose;
    if (!download || !isWanted || existsSync(path)) return [];
    const options = { ...downloadOptions(input), version };
    return [{ client, path, options, release: releaseOf(recipe, options) }];
  });
}

function imageLine({ client, container }: ClientRecipe): string {
  const { image, source } = container ?? {};
  return `${client}: ${image} (${source?.text}, ${source?.date}); its publisher's registry is trusted for what it is`;
}

function originLine({ client, version, origin }: ClientRecipe): string {
  const key = origin.fingerprint
    ? `signed by ${origin.fingerprint}`
    : 'without a signature that is known here: compare checksums';
  return `${client} ${version} or later, from ${origin.where}: ${key} (${origin.source.text}, ${origin.source.date})`;
}

/** @throws Fault permanent `usage`, `not_found` */
function readPlan(input: Input): Readonly<{ place: Place; recipes: readonly ClientRecipe[]; binDir: string }> {
  const [network = ''] = input.args;
  const all = readClients(network);
  if (all.length === 0) {
    const known = readRecipes().filter((one) => readClients(one.network).length > 0);
    throw notFound(`no client is known for "${network}", only for ${known.map((one) => one.network).join(', ')}`);
  }
  const recipes = chosen(all, textOption(input, 'clients'));
  const root = folderOf(input, 'dir', NODES_DIR);
  const checkpointUrl = textOption(input, 'checkpoint-url') ?? null;
  if (checkpointUrl !== null && !(URL.canParse(checkpointUrl) && /^https?:$/.test(new URL(checkpointUrl).protocol))) {
    throw usage('--checkpoint-url is not an http:// or https:// URL');
  }
  const asking = recipes.find(needsCheckpoint);
  if (asking && checkpointUrl === null) {
    throw usage(`${asking.client} needs --checkpoint-url: a beacon node that you trust at its first start`);
  }
  const user = textOption(input, 'user') ?? USER;
  if (!/^[a-z_][a-z0-9_-]{0,30}$/.test(user)) throw usage(`--user is "${user}", which is no name of a user`);
  return {
    place: {
      network,
      dir: resolve(root, network),
      unitDir: folderOf(input, 'unit-dir', UNIT_DIR),
      user,
      checkpointUrl,
    },
    recipes,
    binDir: folderOf(input, 'bin', resolve(root, 'bin')),
  };
}

const folderOf = (input: Input, name: string, fallback: string): string =>
  resolve(input.cwd, textOption(input, name) ?? fallback);

/** One client of each role. @throws Fault permanent `usage` */
function chosen(all: readonly ClientRecipe[], wanted: string | undefined): readonly ClientRecipe[] {
  const roles = [...new Set(all.map(({ role }) => role))];
  const names = wanted?.split(',').map((name) => name.trim());
  const unknown = names?.find((name) => !all.some(({ client }) => client === name));
  const known = all.map(({ client }) => client).join(', ');
  if (unknown !== undefined) throw usage(`--clients has "${unknown}", expected some of ${known}`);
  return roles.map((role) => {
    const own = all.filter((one) => one.role === role);
    const fitting = names ? own.filter(({ client }) => names.includes(client)) : own.slice(0, 1);
    const [one, ...more] = fitting;
    if (one && more.length === 0) return one;
    throw usage(`--clients must have one ${role} client of ${own.map(({ client }) => client).join(', ')}`);
  });
}
