/**
 * Recipes: what is known about the nodes of a network, as data in `recipes/`. All files are checked together, and all
 * problems are listed at once.
 * @module
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { chains } from '../../src/chains/index.ts';
import { check, type Problem } from '../../src/config/check.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { permanent } from '../../src/core/fault.ts';

const dateText = z.string().regex(/^\d{4}-\d{2}-\d{2}$/, 'expected a date such as 2026-11-03');
const moment = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/, 'expected a time such as 2026-12-08T02:30:00Z');
const port = z.int().min(1).max(65_535);
/** Where a fact comes from, and how old that text is. */
const source = z.strictObject({ text: z.string().min(1), date: dateText });

/** The oldest version of a client that will do. */
const release = z.strictObject({
  /** The name that the client calls itself by, in lower case. */
  client: z.string().regex(/^[a-z][a-z-]*$/, 'expected the name of a client in lower case'),
  version_min: z.string().regex(/^\d+(\.\d+)+$/, 'expected a version such as 1.8.2'),
  /** What is wrong with older versions. */
  why: z.string().min(1),
  fork: z.string().optional(),
  /** From when on; absent: always. */
  from: moment.optional(),
  /** Older versions are a warning, never an error. */
  is_advice: z.boolean().optional(),
  source,
});

const gib = z.number().nonnegative();

/** One way to run a node, and what machine it needs. */
const machine = z.strictObject({
  /** Which clients, with how much history. */
  run: z.string().min(1),
  cores: z.int().positive(),
  memory_gib: z.int().positive(),
  /** What each part takes today. */
  disk_gib: z.array(gib).min(1),
  /** At least and at most. */
  growth_gib_month: z.tuple([gib, gib]),
  /** The 99th percentile of random reads must be below this, in microseconds. */
  read_us_max: z.int().positive().optional(),
  arch: z.literal('x64').optional(),
  cpu_flag: z.string().optional(),
  /** What its clients listen on. */
  ports: z.array(port),
  note: z.string().optional(),
  source,
});

const networkRecipe = z.strictObject({
  kind: z.literal('network'),
  network: z.string().min(1),
  family: z.enum(Object.keys(chains) as [keyof typeof chains]),
  chain_id: z.string().min(1),
  /** The hash of block 0. */
  genesis: z.string().optional(),
  genesis_source: source.optional(),
  /** The longest outage after which everything must still be there to be read. */
  outage_days: z.int().positive(),
  /** What to change on a node that keeps too little. */
  history_advice: z.string().min(1),
  /** Ports that only this machine should reach. */
  private_ports: z.array(port),
  releases: z.array(release),
  machines: z.array(machine),
});

const words = z.array(z.string().min(1));

/**
 * A client that `node install` runs. In arguments and files, `{data}` is its data folder, `{dir}` the network's folder,
 * `{jwt}` the file with the secret of the Engine API, `{checkpoint}` the URL of --checkpoint-url.
 */
const clientRecipe = z.strictObject({
  kind: z.literal('client'),
  client: z.string().regex(/^[a-z][a-z-]*$/, 'expected the name of a client in lower case'),
  network: z.string().min(1),
  role: z.enum(['execution', 'consensus']),
  /** The oldest version that is installed. */
  version: z.string().regex(/^\d+(\.\d+)+$/, 'expected a version such as 1.8.2'),
  /** Its file in the folder of programs. */
  program: z.string().regex(/^[\w-]+$/, 'expected a file name'),
  /** Makes the program print its version; absent: the program is not the client itself. */
  version_args: words.optional(),
  /** Where it is published. `fingerprint`: of the key that signs it; absent: it is not signed, or that is not known. */
  origin: z.strictObject({
    where: z.string().min(1),
    fingerprint: z
      .string()
      .regex(/^[0-9A-F]{40}$/, 'expected 40 hex digits')
      .optional(),
    source,
  }),
  /**
   * Where its release can be fetched from; the signature is by the key of `origin`. `{version}` and `{arch}` (`x86_64`,
   * `aarch64`) are filled in; `member`: the program in the archive; absent: the file itself.
   */
  download: z
    .strictObject({
      url: z.url({ protocol: /^https$/, error: 'expected an https:// URL' }),
      signature: z.url({ protocol: /^https$/, error: 'expected an https:// URL' }),
      member: z.string().min(1).optional(),
      source,
    })
    .optional(),
  /** Files that its publisher ships and that must be in the network's folder. */
  needs_files: words.optional(),
  /** Files that are written into the network's folder, by lines. */
  files: z.record(z.string().regex(/^[\w.-]+$/, 'expected a file name'), words).optional(),
  args: words,
  args_source: source,
  /** What an upgrade replaces; absent: the program. */
  upgraded_file: z.string().min(1).optional(),
  /** Where its publisher has databases, with `{date}` as 20261122, and how many folders of their paths to leave out. */
  snapshots: z
    .array(z.strictObject({ url: z.url(), strip: z.int().min(0).max(8), note: z.string().min(1), source }))
    .optional(),
  /** What a person runs once, such as the download of a snapshot. */
  before_first_start: words.optional(),
  /** Ports that it opens to everybody, and that must be closed by a firewall. */
  close_ports: z.array(port).optional(),
  stop_signal: z.enum(['SIGTERM', 'SIGINT']),
  /** How long it may take to stop; killed earlier, its database may break. */
  stop_s: z.int().positive(),
  p2p_ports: z.array(port),
  /** Where an indexer reaches it. */
  url: z.string().optional(),
  /** How it runs in a container; absent: no image of it is known. */
  container: z
    .strictObject({
      image: z.string().regex(/^[\w./-]+:v?\d[\w.-]*$/, 'expected an image with the tag of a version'),
      /** The program in the image; absent: as outside. */
      program: z.string().optional(),
      /** The arguments before addresses that indexers in other containers must reach. */
      listen: words.optional(),
      args_more: words.optional(),
      source,
    })
    .optional(),
});

const anyRecipe = z.discriminatedUnion('kind', [networkRecipe, clientRecipe], {
  error: 'expected "network" or "client"',
});

export type ClientRecipe = z.infer<typeof clientRecipe>;
export type Release = z.infer<typeof release>;
export type MachineNeeds = z.infer<typeof machine>;
export type NetworkRecipe = z.infer<typeof networkRecipe>;

const shipped = fileURLToPath(new URL('./recipes/', import.meta.url));

/**
 * Reads and checks every recipe.
 * @param folder another folder than the one that comes with the program
 * @throws Fault permanent `recipe_invalid`, which lists all problems of all files
 */
export function readRecipes(folder = shipped): readonly NetworkRecipe[] {
  return readAll(folder).networks;
}

/** Returns the clients of a network, those that execute blocks first. @throws as `readRecipes` */
export const readClients = (network: string): readonly ClientRecipe[] =>
  readAll(shipped)
    .clients.filter((one) => one.network === network)
    .sort((one, other) => Number(one.role === 'consensus') - Number(other.role === 'consensus'));

type Recipes = Readonly<{ networks: readonly NetworkRecipe[]; clients: readonly ClientRecipe[] }>;

function readAll(folder: string): Recipes {
  const problems: Problem[] = [];
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  const all = names.sort().flatMap((name) => {
    const recipe = check(problems, [name], anyRecipe, readJson(problems, folder, name));
    if (recipe?.kind === 'network' && recipe.genesis && !recipe.genesis_source)
      problems.push({ path: `${name}.genesis_source`, text: 'missing, expected where the genesis hash comes from' });
    return recipe ?? [];
  });
  const recipes = all.filter((recipe) => recipe.kind === 'network');
  const clients = all.filter((recipe) => recipe.kind === 'client');
  for (const [at, { family, chain_id, network }] of recipes.entries()) {
    const before = recipes.slice(0, at).find((one) => one.family === family && one.chain_id === chain_id);
    if (before)
      problems.push({ path: network, text: `has the chain_id of ${before.network}, expected one file for each` });
  }
  for (const { client, network, download, origin } of clients) {
    if (download && !origin.fingerprint)
      problems.push({
        path: `${client}.origin.fingerprint`,
        text: 'missing, expected the key that signs the download',
      });
    if (!recipes.some((one) => one.network === network))
      problems.push({ path: client, text: `is for ${network}, which has no file` });
  }
  if (problems.length === 0) return { networks: recipes, clients };
  const lines = problems.map(({ path, text }) => `  ${path}: ${text}`);
  throw permanent(
    'recipe_invalid',
    `the recipes of nodes in ${folder} are wrong in ${lines.length} place(s); scripts/nodes/README.md has the format:\n${lines.join('\n')}`,
  );
}

function readJson(problems: Problem[], folder: string, name: string): unknown {
  try {
    return JSON.parse(readFileSync(join(folder, name), 'utf8'));
  } catch (error) {
    problems.push({ path: name, text: `cannot be read as JSON: ${error instanceof Error ? error.message : error}` });
    return {};
  }
}

/** Returns the recipe of a network, which its family and chain id identify; null if there is none. */
export const recipeOf = (
  recipes: readonly NetworkRecipe[],
  { family, chainId }: Pick<NetworkConfig, 'family' | 'chainId'>,
): NetworkRecipe | null => recipes.find((one) => one.family === family && one.chain_id === chainId) ?? null;
