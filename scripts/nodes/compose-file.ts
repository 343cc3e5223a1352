/**
 * A node as services of Docker Compose. Its clients share one network of their own, so that what listens on loopback is
 * reached by them only, and indexers in other containers reach what listens for them; no port but those of peers is
 * published. Pure.
 * @module
 */

import { join } from 'node:path';
import { permanent } from '../../src/core/fault.ts';
import { shellWord } from '../../src/lib/shell-word.ts';
import type { ClientRecipe } from './recipe.ts';
import { clientFiles, dataFolder, fill, type Place, type ServiceFile } from './service-files.ts';

/** The user and group of all clients, which need own nothing but their data. */
export const CONTAINER_USER = '1000:1000';

export const composeFile = ({ dir }: Pick<Place, 'dir'>): string => join(dir, 'compose.yaml');
const serviceName = ({ network, client }: ClientRecipe): string => `${network}-${client}`;

/** Writes a text as YAML reads it back, and so that Compose replaces nothing in it. */
const quoted = (text: string): string => JSON.stringify(text).replaceAll('$', '$$$$');

/** Returns a client's image and arguments. @throws Fault permanent `no_image` */
function containerOf(place: Place, recipe: ClientRecipe): Readonly<{ image: string; words: readonly string[] }> {
  const { container, program, client, args } = recipe;
  if (!container)
    throw permanent('no_image', `no image of ${client} is known: choose others with --clients, or leave out --compose`);
  const { image, program: own = program, listen = [], args_more = [] } = container;
  const words = [...args, ...args_more].map((word, at, all) =>
    word === '127.0.0.1' && listen.includes(all[at - 1] ?? '') ? '0.0.0.0' : fill(word, place, recipe),
  );
  return { image, words: [own, ...words] };
}

/** @param first the client whose network this one shares; null for the first itself */
function serviceLines(place: Place, recipe: ClientRecipe, all: readonly ClientRecipe[]): string[] {
  const [first = recipe] = all;
  const { image, words } = containerOf(place, recipe);
  const [program = '', ...args] = words;
  const data = dataFolder(place, recipe);
  const isFirst = first === recipe;
  const ports = all
    .flatMap(({ p2p_ports }) => p2p_ports)
    .flatMap((port) => [`${port}:${port}/tcp`, `${port}:${port}/udp`]);
  return [
    `  ${serviceName(recipe)}:`,
    `    profiles: [${recipe.network}]`,
    `    image: ${image}`,
    `    entrypoint: [${quoted(program)}]`,
    '    command:',
    ...args.map((word) => `      - ${quoted(word)}`),
    `    user: "${CONTAINER_USER}"`,
    '    environment:',
    `      HOME: ${quoted(data)}`,
    '    restart: unless-stopped',
    '    init: true',
    '    read_only: true',
    '    cap_drop: [ALL]',
    '    security_opt: ["no-new-privileges:true"]',
    '    tmpfs: [/tmp]',
    // Killed earlier, its database may break.
    `    stop_signal: ${recipe.stop_signal}`,
    `    stop_grace_period: ${recipe.stop_s}s`,
    ...(isFirst
      ? ['    networks: [nodes]', '    ports:', ...ports.map((port) => `      - ${quoted(port)}`)]
      : [`    network_mode: "service:${serviceName(first)}"`, `    depends_on: [${serviceName(first)}]`]),
    '    volumes:',
    `      - ${quoted(`${place.dir}:${place.dir}:ro`)}`,
    `      - ${quoted(`${data}:${data}`)}`,
    '    logging:',
    '      driver: json-file',
    '      options: { max-size: 20m, max-file: "5" }',
  ];
}

/** Returns every file of a node in containers but the secret of its Engine API. @throws Fault permanent `no_image` */
export function composeFiles(place: Place, recipes: readonly ClientRecipe[]): ServiceFile[] {
  const text = [
    '# Written by `quayside node install --compose`, which shows and replaces changes made here.',
    'services:',
    ...recipes.flatMap((recipe) => serviceLines(place, recipe, recipes)),
    'networks:',
    '  nodes:',
  ];
  return [
    { path: composeFile(place), text: `${text.join('\n')}\n`, mode: 0o644 },
    ...recipes.flatMap((recipe) => clientFiles(place, recipe)),
  ];
}

/** Returns the commands that a person runs after an installation, and where indexers in containers reach the node. */
export function composeCommands(place: Place, recipes: readonly ClientRecipe[], owned: readonly string[]): string[] {
  const docker = `docker compose -f compose.yaml -f ${shellWord(composeFile(place))}`;
  const before = recipes.flatMap((recipe) => {
    const words = recipe.before_first_start?.map((word) => shellWord(fill(word, place, recipe)));
    return words ? [`${docker} run --rm ${serviceName(recipe)} ${words.join(' ')}`] : [];
  });
  return [
    `chown -R ${CONTAINER_USER} ${owned.map(shellWord).join(' ')}`,
    ...before,
    `${docker} --profile ${place.network} up -d   # in the folder of Quayside's compose.yaml`,
  ];
}

/** Returns a node's URL as other containers reach it. */
export const urlInside = ({ url, ...recipe }: ClientRecipe): string | undefined =>
  url?.replace('127.0.0.1', serviceName({ ...recipe, url }));
