/**
 * The project's own source as data: files, code without comments, and who imports whom.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { posix } from 'node:path';

/** Path from the project's root, and the text. */
export type Sources = ReadonlyMap<string, string>;

const roots = ['src', 'indexers', 'scripts', 'test'];

/** Every file of the source folders. */
export function readSources(): Sources {
  const sources = new Map<string, string>();
  for (const root of roots.filter((one) => existsSync(one))) {
    for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
      const path = `${root}/${name}`;
      if (/\.(ts|mjs|sql)$/.test(name)) sources.set(path, readFileSync(path, 'utf8'));
    }
  }
  return sources;
}

/** Everything that people read: sources, styles, pages of documentation, and the payment page's English. */
export function readTexts(): Sources {
  const texts = new Map<string, string>();
  const folders = [...roots, 'config', 'docs', 'deploy'].filter((one) => existsSync(one));
  const names = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  );
  for (const path of [...readdirSync('.'), ...names]) {
    if (
      /\.(ts|mjs|js|css|md)$|\/en(\/[\w-]+)?\.json$|^src\/(api|app)\/.*\.json$/.test(path) &&
      !/^test\/(fixtures|vectors)\//.test(path)
    )
      texts.set(path, readFileSync(path, 'utf8'));
  }
  return texts;
}

const STRING_OR_COMMENT = /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g;

/** The text with comments blanked out; lines keep their numbers. */
export const withoutComments = (text: string): string =>
  text.replace(STRING_OR_COMMENT, (match, string) => string ?? match.replace(/[^\n]/g, ''));

const IMPORT = /\bfrom\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)|^import\s+'([^']+)'/gm;

/** Code without texts that only mention code: an import's name is always in single quotes. */
const withoutDoubleQuoted = (code: string): string => code.replace(/"(?:\\.|[^"\\\n])*"/g, '""');

/**
 * Imports of a file: paths from the root for our own files, bare names for packages, `node:…` for Node's own modules.
 */
export function importsOf(path: string, text: string): string[] {
  return [...withoutDoubleQuoted(withoutComments(text)).matchAll(IMPORT)].map((match) =>
    resolveFrom(path, match[1] ?? match[2] ?? match[3] ?? ''),
  );
}

const FILE_NAME = /'((?:\.{1,2}|src|indexers|scripts|test)\/[\w./${}-]+\.(?:ts|mjs))'/g;

/** Files that a file imports or names in a text: worker modules and programs are started by their path. */
function mentionsOf(path: string, text: string): string[] {
  const named = [...withoutComments(text).matchAll(FILE_NAME)].map((match) => resolveFrom(path, match[1] ?? ''));
  return [...importsOf(path, text), ...named];
}

function resolveFrom(path: string, name: string): string {
  if (name.startsWith('.')) return posix.join(posix.dirname(path), name);
  return builtinModules.includes(name) ? `node:${name}` : name;
}

/** Files that can be reached from these by imports and mentions. */
export function reachable(sources: Sources, from: Iterable<string>): ReadonlySet<string> {
  const reached = new Set<string>();
  const open = [...from];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const text = sources.get(path);
    if (text === undefined || reached.has(path)) continue;
    reached.add(path);
    open.push(...mentionsOf(path, text));
  }
  return reached;
}

const packageOf = (target: string): string =>
  target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/');

/** Returns the packages that a file imports, once for each import. */
export const packagesOf = (path: string, text: string): string[] =>
  importsOf(path, text)
    .filter((target) => !/^(node:|src\/|indexers\/|scripts\/|test\/|config\/|sdk\/|package\.json)/.test(target))
    .map(packageOf);
