/**
 * Writes the configuration and systemd units of a node. Downloads nothing and starts nothing.
 * @module
 */
import { resolve } from 'node:path';
import { systemClock } from '../../src/lib/clock.ts';
import { composeCommands, composeFiles, urlInside } from '../nodes/compose-file.ts';
import { changesOf, findProgram, nextCommands, ownedPaths, requireFiles, writeInstallation } from '../nodes/install.ts';
import { type ClientRecipe, readClients, readRecipes } from '../nodes/recipe.ts';
import { needsCheckpoint, type Place, serviceFiles } from '../nodes/service-files.ts';
import { NODES_DIR, UNIT_DIR } from '../nodes/services.ts';
import { dryRunOption, type Input, notFound, type OfflineCommand, textOption, usage } from './command.ts';

const USER = 'quayside-node';

export const nodeInstall: OfflineCommand = {
  name: 'node install',
  args: ['network'],
  summary: 'Write the configuration and systemd units, or a compose file, of a node. Downloads and starts nothing.',
  options: {
    clients: { value: 'A,B', help: 'which clients (default: the first of the recipes, such as geth,lighthouse)' },
    dir: { value: 'DIR', help: `the folder of all nodes; this one gets a folder in it (${NODES_DIR})` },
    bin: { value: 'DIR', help: 'where the clients’ programs are (default: bin in --dir), besides PATH' },
    'checkpoint-url': { value: 'URL', help: 'a beacon node that is trusted at the first start (consensus clients)' },
    user: { value: 'NAME', help: `the user that the clients run as (${USER})` },
    compose: { help: 'write a compose.yaml with pinned images instead of systemd units' },
    'unit-dir': { value: 'DIR', help: `where systemd units are written (${UNIT_DIR})` },
    'dry-run': dryRunOption,
  },
  notes: [
    'The programs must be there already: get them from their publishers and verify their signatures; where a recipe',
    'knows the key, its fingerprint is shown. Shows each file that changes, keeps a copy of what it replaces, and prints',
    'the commands that are left to you. Exit codes: 0 written or nothing to change, 1 refused, 2 wrong usage.',
  ],
  async runOffline(input) {
    const { place, recipes, binDir } = readPlan(input);
    const inContainers = input.options.compose === true;
    const find = async (recipe: ClientRecipe) =>
      [recipe.client, await findProgram(recipe, binDir, input.env.PATH ?? '')] as const;
    const programs = new Map(inContainers ? [] : await Promise.all(recipes.map(find)));
    requireFiles(place, recipes);
    const changes = changesOf(inContainers ? composeFiles(place, recipes) : serviceFiles(place, recipes, programs));
    const isDry = input.options['dry-run'] === true;
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
        next,
        url,
      },
      lines: [
        ...files.flatMap(({ path, diff }) => [path, ...diff, '']),
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
