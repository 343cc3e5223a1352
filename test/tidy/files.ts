/**
 * Properties of a file: its length, who uses it, and which packages it may use.
 */
import { readFileSync } from 'node:fs';
import { isProgram } from './layers.ts';
import type { Rule } from './rule.ts';
import { packagesOf, reachable, type Sources } from './source-tree.ts';

const LINES_MAX = 500;
const TEST_LINES_MAX = 600;
/** Every table is read in one place. Its length only falls. */
const SCHEMA_LINES_MAX = 695;

function sizeFindings(sources: Sources): string[] {
  return [...sources].flatMap(([path, text]) => {
    const lines = text.split('\n').length - 1;
    // The tables are written by a program, from the schema.
    if (path === 'src/database/tables.ts') return [];
    const own = path === 'src/database/schema.sql' ? SCHEMA_LINES_MAX : LINES_MAX;
    const max = path.startsWith('test/') ? TEST_LINES_MAX : own;
    return lines > max ? [`${path} has ${lines} lines, more than ${max}: it is two nouns, split it`] : [];
  });
}

function orphanFindings(sources: Sources): string[] {
  const paths = [...sources.keys()].filter((path) => !/\.(sql|d\.ts)$/.test(path));
  const used = reachable(sources, paths.filter(isProgram));
  const tested = reachable(
    sources,
    paths.filter((path) => path.endsWith('.test.ts')),
  );
  return paths
    .filter((path) => !used.has(path) && !(/^test\//.test(path) && tested.has(path)))
    .map((path) => `${path} is used by no program${path.startsWith('test/') ? ' and no test' : ''}: delete it`);
}

type Manifest = Readonly<{
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  scripts: Record<string, string>;
}>;

export const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest;

/** Packages that `docs/internals/dependencies.md` does not name, and names in its list that are no dependencies. */
export function dependencyFindings({ dependencies, devDependencies }: Manifest, page: string): string[] {
  const listed = [...page.matchAll(/^- `([^`]+)`:/gm)].flatMap(([, name]) => name ?? []);
  return [
    ...Object.keys(dependencies)
      .filter((name) => !listed.includes(name))
      .map((name) => `${name} is not in the list of docs/internals/dependencies.md: say there why it is needed`),
    ...Object.keys(devDependencies)
      .filter((name) => !name.startsWith('@types/') && !page.includes(`\`${name}\``))
      .map((name) => `${name} is not in docs/internals/dependencies.md: say there what it is for`),
    ...listed
      .filter((name) => !(name in dependencies))
      .map((name) => `docs/internals/dependencies.md lists ${name}, which is no dependency: take it out`),
  ];
}

/** Files that may use development packages: tests, benchmarks, and what builds. */
const IN_DEVELOPMENT = /^(test\/|scripts\/bench\/|scripts\/join-programs\.mjs$)/;

export function manifestFindings({ dependencies, devDependencies, scripts }: Manifest, sources: Sources): string[] {
  const inexact = Object.entries({ ...dependencies, ...devDependencies })
    .filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))
    .map(([name, version]) => `package.json: ${name} is "${version}": write the exact version`);
  const missing = Object.entries(scripts).flatMap(([name, command]) =>
    (command.match(/[\w./-]+\.(ts|mjs|js)\b/g) ?? [])
      .map((file) => file.replace(/^dist\/(.*)\.js$/, '$1.ts'))
      .filter((file) => !sources.has(file))
      .map((file) => `package.json: the script "${name}" runs ${file}, which does not exist`),
  );
  const undeclared = [...sources].flatMap(([path, text]) =>
    packagesOf(path, text)
      .filter((name) => !(name in dependencies) && !(IN_DEVELOPMENT.test(path) && name in devDependencies))
      .map((name) => `${path} imports ${name}: add it to the dependencies in package.json`),
  );
  return [...inexact, ...missing, ...undeclared];
}

const SIGNER = 'src/signer/main.ts';
const SIGNER_PACKAGES_MAX = 10;

type Lock = Readonly<{
  packages: Readonly<Record<string, Readonly<{ dependencies?: Record<string, string> }>>>;
}>;

/** Run when a package is installed and never loaded. */
const INSTALLERS: readonly string[] = ['prebuild-install'];

/** Packages that the signer's process can load: those its files import, and what these depend on. It never opens a node. */
function signerPackages(sources: Sources): ReadonlySet<string> {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lock;
  const offline = new Map([...sources].filter(([path]) => !/^src\/chains\/(transport|\w+\/node)\//.test(path)));
  const direct = [...reachable(offline, [SIGNER])].flatMap((path) => packagesOf(path, sources.get(path) ?? ''));
  const found = new Set<string>();
  const open = direct.map((name) => `node_modules/${name}`);
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const place = at;
    const entry = lock.packages[place];
    if (!entry || found.has(place)) continue;
    found.add(place);
    const needed = Object.keys(entry.dependencies ?? {}).filter((name) => !INSTALLERS.includes(name));
    open.push(...needed.map((name) => resolvePackage(lock, place, name)));
  }
  return found;
}

/** Node's own search: beside the package, then in each folder above. */
function resolvePackage(lock: Lock, from: string, name: string): string {
  for (let base = from; base !== ''; base = base.slice(0, Math.max(0, base.lastIndexOf('/node_modules/')))) {
    if (lock.packages[`${base}/node_modules/${name}`]) return `${base}/node_modules/${name}`;
  }
  return `node_modules/${name}`;
}

function signerFindings(sources: Sources): string[] {
  if (!sources.has(SIGNER)) return [];
  const count = signerPackages(sources).size;
  if (count <= SIGNER_PACKAGES_MAX) return [];
  return [`${SIGNER} can load ${count} packages, more than ${SIGNER_PACKAGES_MAX}: keep them out of the signer`];
}

export const fileRules: readonly Rule[] = [
  {
    name: 'files stay short',
    find: sizeFindings,
    caught: [['a long file', { 'src/a.ts': '\n'.repeat(LINES_MAX + 1) }]],
  },
  {
    name: 'no file is left over',
    find: orphanFindings,
    caught: [
      ['a file without a user', { 'src/api/a.ts': 'export const a = 1;' }],
      ['support without a test', { 'test/support/a.ts': 'export const a = 1;' }],
    ],
  },
  {
    name: 'the manifest is exact and complete',
    find: (all) => manifestFindings(manifest, all),
    caught: [['a package that is not declared', { 'src/api/a.ts': "import x from 'left-pad';" }]],
  },
  {
    name: 'the signer loads few packages',
    find: signerFindings,
    caught: [['an SDK in the signer', { [SIGNER]: "import { TronWeb } from 'tronweb';" }]],
  },
];
