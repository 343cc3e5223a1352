/**
 * Installs a node's services: finds the programs, compares the files with what is there, and writes them.
 * @module
 */

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { permanent } from '../../src/core/fault.ts';
import { createSecretFile } from '../../src/lib/secret-file.ts';
import { shellWord } from '../../src/lib/shell-word.ts';
import { lineDiff } from './line-diff.ts';
import type { ClientRecipe } from './recipe.ts';
import { compareVersions } from './release-findings.ts';
import { dataFolder, fill, jwtFile, type Place, type ServiceFile, unitName } from './service-files.ts';
import { readVersion } from './software.ts';

const VERSION_MS_MAX = 20_000;
const JWT_BYTES = 32;

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/**
 * Finds the program of a client, in the folder of programs or where the shell would, and checks its version.
 * @throws Fault permanent `program_missing`, `version_too_old`
 */
export async function findProgram(recipe: ClientRecipe, binDir: string, path: string): Promise<string> {
  const { client, program, version, version_args, origin } = recipe;
  const found = [binDir, ...path.split(delimiter)].map((folder) => join(folder, program)).find(isProgram);
  if (found === undefined) {
    const key = origin.fingerprint ? `; verify its signature by the key ${origin.fingerprint}` : '';
    throw permanent(
      'program_missing',
      `there is no ${program} (${client} ${version}) in ${binDir}: get it from ${origin.where}${key}, and put it there`,
    );
  }
  if (!version_args) return found;
  const own = await readOwnVersion(found, version_args);
  if (own !== null && compareVersions(own, version) >= 0) return found;
  throw permanent(
    'version_too_old',
    `${found} is version ${own ?? 'unknown'}, and ${version} or later is wanted: ${origin.where}`,
  );
}

/** Runs a program to learn its version; null if it does not say. @throws Fault permanent `program_missing` */
export async function readOwnVersion(program: string, args: readonly string[]): Promise<string | null> {
  try {
    const { stdout, stderr } = await promisify(execFile)(program, [...args], { timeout: VERSION_MS_MAX });
    return readVersion(stdout + stderr).version;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw permanent('program_missing', `${program} does not run: ${why}`, error);
  }
}

/**
 * @param planned files that will be there
 * @throws Fault permanent `file_missing`
 */
export function requireFiles({ dir }: Place, recipes: readonly ClientRecipe[], planned: readonly string[] = []): void {
  for (const { needs_files = [], origin, client } of recipes) {
    const missing = needs_files.filter((name) => !existsSync(join(dir, name)) && !planned.includes(join(dir, name)));
    if (missing.length > 0) {
      throw permanent(
        'file_missing',
        `${client} needs ${missing.join(' and ')} in ${dir}: they are at ${origin.where}`,
      );
    }
  }
}

export type Change = ServiceFile & Readonly<{ diff: readonly string[] }>;

/** Returns the files that are not there yet, or differ, with their diffs. */
export const changesOf = (files: readonly ServiceFile[]): Change[] =>
  files.flatMap((file) => {
    const before = existsSync(file.path) ? readFileSync(file.path, 'utf8') : '';
    return before === file.text ? [] : [{ ...file, diff: lineDiff(before, file.text) }];
  });

/**
 * Writes what has changed, keeps a copy of each file that is replaced, and creates the data folders and the secret of
 * the Engine API if there are none.
 * @param stamp distinguishes the copies
 * @returns the copies
 */
export function writeInstallation(
  place: Place,
  recipes: readonly ClientRecipe[],
  changes: readonly Change[],
  stamp: string,
): string[] {
  mkdirSync(place.dir, { recursive: true, mode: 0o755 });
  for (const recipe of recipes) mkdirSync(dataFolder(place, recipe), { recursive: true, mode: 0o700 });
  if (recipes.some(({ role }) => role === 'consensus')) {
    createSecretFile(jwtFile(place), randomBytes(JWT_BYTES).toString('hex'));
  }
  const copies: string[] = [];
  for (const { path, text, mode } of changes) {
    mkdirSync(dirname(path), { recursive: true });
    const draft = `${path}.${process.pid}.draft`;
    writeFileSync(draft, text, { mode, flush: true });
    if (existsSync(path)) {
      copies.push(`${path}.${stamp}.bak`);
      renameSync(path, `${path}.${stamp}.bak`);
    }
    renameSync(draft, path);
  }
  return copies;
}

/** Returns what must belong to the user that the clients run as. */
export function ownedPaths(place: Place, recipes: readonly ClientRecipe[]): string[] {
  const hasSecret = recipes.some(({ role }) => role === 'consensus');
  return [...recipes.map((recipe) => dataFolder(place, recipe)), ...(hasSecret ? [jwtFile(place)] : [])];
}

/** Returns the commands that a person runs as root after an installation. */
export function nextCommands(
  place: Place,
  recipes: readonly ClientRecipe[],
  programs: ReadonlyMap<string, string>,
): string[] {
  const { user, network } = place;
  const before = recipes.flatMap((recipe) => {
    const { before_first_start: args, client } = recipe;
    if (!args) return [];
    const command = [programs.get(client) ?? '', ...args.map((word) => fill(word, place, recipe))];
    return [`sudo -u ${user} ${command.map(shellWord).join(' ')}`];
  });
  return [
    `useradd --system --no-create-home --shell /usr/sbin/nologin ${user}   # unless it exists`,
    `chown -R ${user}: ${ownedPaths(place, recipes).map(shellWord).join(' ')}`,
    ...before,
    'systemctl daemon-reload',
    `systemctl enable ${recipes.map(({ client }) => unitName(network, client)).join(' ')}`,
    `quayside node start ${network}`,
  ];
}
