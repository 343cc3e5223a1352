/**
 * The files of a node that is installed: a systemd unit for each client, its own configuration, and firewall rules for
 * clients that cannot listen on loopback only. Pure.
 * @module
 */
import { join } from 'node:path';
import type { ClientRecipe } from './recipe.ts';

/** After a crash, a client is started again this much later, so that a full disk does not make it restart for ever. */
const RESTART_S = 60;
const STARTS_MAX = 5;
const STARTS_S = 900;
const FILES_MAX = 1_000_000;
/** systemd splits at spaces, and expands these. */
const SPECIAL = /[\s"'\\;$%]/;

export type Place = Readonly<{
  network: string;
  /** The network's folder. */
  dir: string;
  /** Where the unit files are. */
  unitDir: string;
  /** The user that the clients run as. */
  user: string;
  /** The URL of a beacon node that the consensus client trusts at its first start; null if not given. */
  checkpointUrl: string | null;
}>;

export type ServiceFile = Readonly<{ path: string; text: string; mode: number }>;

export const unitName = (network: string, client: string): string => `quayside-${network}-${client}.service`;
export const jwtFile = ({ dir }: Pick<Place, 'dir'>): string => join(dir, 'jwt.hex');
export const dataFolder = ({ dir }: Pick<Place, 'dir'>, { client }: Pick<ClientRecipe, 'client'>): string =>
  join(dir, client);
/** Beside the units: what root loads must not be the client's to change. */
const firewallFile = ({ unitDir }: Place, { network, client }: ClientRecipe): string =>
  join(unitDir, unitName(network, client).replace(/\.service$/, '.nft'));

/** Fills the placeholders of a recipe. */
export function fill(text: string, place: Place, recipe: ClientRecipe): string {
  const values: Readonly<Record<string, string>> = {
    data: dataFolder(place, recipe),
    dir: place.dir,
    jwt: jwtFile(place),
    checkpoint: place.checkpointUrl ?? '',
  };
  return text.replace(/\{(data|dir|jwt|checkpoint)\}/g, (_, name: string) => values[name] ?? '');
}

/** Returns whether a recipe needs the URL of a checkpoint. */
export const needsCheckpoint = ({ args, before_first_start = [] }: ClientRecipe): boolean =>
  [...args, ...before_first_start].some((word) => word.includes('{checkpoint}'));

/** Writes a word as systemd reads it back (systemd.service(5), "Command lines"). */
function unitWord(word: string): string {
  if (!SPECIAL.test(word)) return word;
  return `"${word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('$', '$$$$').replaceAll('%', '%%')}"`;
}

/** @param program the path of the client's program @param first the client that must be started before; null if none */
function unitText(place: Place, recipe: ClientRecipe, program: string, first: ClientRecipe | null): string {
  const { client, network, args, close_ports = [], stop_s, stop_signal } = recipe;
  const command = [program, ...args.map((word) => fill(word, place, recipe))].map(unitWord).join(' ');
  const nft = unitWord(firewallFile(place, recipe));
  const table = `inet ${tableName(recipe)}`;
  return `${[
    '# Written by `quayside node install`, which shows and replaces changes made here.',
    '[Unit]',
    `Description=${client} (${network}) for Quayside`,
    `After=network-online.target${first ? ` ${unitName(network, first.client)}` : ''}`,
    'Wants=network-online.target',
    `StartLimitIntervalSec=${STARTS_S}`,
    `StartLimitBurst=${STARTS_MAX}`,
    '',
    '[Service]',
    `User=${place.user}`,
    // As root, before the client listens: without the rules it does not start.
    ...(close_ports.length > 0 ? [`ExecStartPre=+/usr/sbin/nft -f ${nft}`] : []),
    `ExecStart=${command}`,
    ...(close_ports.length > 0 ? [`ExecStopPost=+/usr/sbin/nft delete table ${table}`] : []),
    `WorkingDirectory=${unitWord(dataFolder(place, recipe))}`,
    `KillSignal=${stop_signal}`,
    'KillMode=mixed',
    `TimeoutStopSec=${stop_s}`,
    'Restart=on-failure',
    `RestartSec=${RESTART_S}`,
    `LimitNOFILE=${FILES_MAX}`,
    'NoNewPrivileges=yes',
    'PrivateTmp=yes',
    'ProtectSystem=strict',
    `ReadWritePaths=${unitWord(dataFolder(place, recipe))}`,
    '',
    '[Install]',
    'WantedBy=multi-user.target',
  ].join('\n')}\n`;
}

const tableName = ({ network, client }: ClientRecipe): string => `quayside_${network}_${client}`.replaceAll('-', '_');

/** Rules that drop what comes from elsewhere to these ports. Loading them again replaces them. */
function firewallText(recipe: ClientRecipe, ports: readonly number[]): string {
  const table = `table inet ${tableName(recipe)}`;
  return `${[
    '# Written by `quayside node install`: this client listens at every address of the machine.',
    table,
    `delete ${table}`,
    `${table} {`,
    '  chain input {',
    '    type filter hook input priority -10; policy accept;',
    `    iifname != "lo" tcp dport { ${ports.join(', ')} } drop`,
    '  }',
    '}',
  ].join('\n')}\n`;
}

/** Returns a client's own files. */
export const clientFiles = (place: Place, recipe: ClientRecipe): ServiceFile[] =>
  Object.entries(recipe.files ?? {}).map(([name, lines]) => ({
    path: join(place.dir, name),
    text: `${lines.map((line) => fill(line, place, recipe)).join('\n')}\n`,
    mode: 0o644,
  }));

/**
 * Returns every file of a node but the secret of its Engine API.
 * @param programs paths by client
 */
export function serviceFiles(
  place: Place,
  recipes: readonly ClientRecipe[],
  programs: ReadonlyMap<string, string>,
): ServiceFile[] {
  return recipes.flatMap((recipe, at) => {
    const { client, network, close_ports = [] } = recipe;
    const unit = unitText(place, recipe, programs.get(client) ?? '', at === 0 ? null : (recipes[at - 1] ?? null));
    return [
      { path: join(place.unitDir, unitName(network, client)), text: unit, mode: 0o644 },
      ...clientFiles(place, recipe),
      ...(close_ports.length > 0
        ? [{ path: firewallFile(place, recipe), text: firewallText(recipe, close_ports), mode: 0o644 }]
        : []),
    ];
  });
}
