/**
 * Installations in folders of their own: as a package brings them, or with their sources.
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { installationFolder } from '../../src/lib/installation.ts';
import './built.ts';

const packages = join(installationFolder, 'node_modules');
const manifest = JSON.parse(readFileSync(join(installationFolder, 'package.json'), 'utf8'));
const sources = ['src', 'indexers', 'scripts', 'sdk/typescript', 'tsconfig.json', 'tsconfig.build.json'];

/**
 * Copies what a package contains, and links the packages that it depends on.
 * @param with_.sources copies the sources, too
 * @param with_.compiler links what builds, too
 * @returns the folder
 */
export function copyInstallation(with_: Readonly<{ sources?: boolean; compiler?: boolean }> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-copy-'));
  for (const path of ['package.json', ...manifest.files, ...(with_.sources ? sources : [])]) {
    cpSync(join(installationFolder, path), join(folder, path), { recursive: true, preserveTimestamps: true });
  }
  const needed = [
    ...Object.keys(manifest.dependencies),
    ...(with_.compiler ? ['typescript', 'esbuild', '@types/node'] : []),
  ];
  for (const name of needed) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(packages, name), link);
  }
  return folder;
}

/** Returns the paths of all files in a folder, relative to it. */
export const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
