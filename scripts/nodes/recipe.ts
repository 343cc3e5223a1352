/**
 * Recipes: what is known about the nodes of a network, as data in `recipes/`. All files are checked together, and all
 * problems are listed at once.
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
  /** Defects of older versions. */
  why: z.string().min(1),
  fork: z.string().optional(),
  /** From when on; absent: always. */
  from: moment.optional(),
  /** Older versions are a warning, never an error. */
  is_advice: z.boolean().optional(),
  source,
});

const networkRecipe = z.strictObject({
  network: z.string().min(1),
  family: z.enum(Object.keys(chains) as [keyof typeof chains]),
  chain_id: z.string().min(1),
  /** The hash of block 0. */
  genesis: z.string().optional(),
  genesis_source: source.optional(),
  /** The longest outage after which everything must still be there to be read. */
  outage_days: z.int().positive(),
  /** The change to a node that keeps too little. */
  history_advice: z.string().min(1),
  /** Ports that only this machine should reach. */
  private_ports: z.array(port),
  releases: z.array(release),
});

export type Release = z.infer<typeof release>;
export type NetworkRecipe = z.infer<typeof networkRecipe>;

const shipped = fileURLToPath(new URL('./recipes/', import.meta.url));

/**
 * Reads and checks every recipe.
 * @param folder another folder than the one that comes with the program
 * @throws Fault permanent `recipe_invalid`, which lists all problems of all files
 */
export function readRecipes(folder = shipped): readonly NetworkRecipe[] {
  const problems: Problem[] = [];
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  const recipes = names.sort().flatMap((name) => {
    const recipe = check(problems, [name], networkRecipe, readJson(problems, folder, name));
    if (recipe?.genesis && !recipe.genesis_source)
      problems.push({ path: `${name}.genesis_source`, text: 'missing, expected where the genesis hash comes from' });
    return recipe ?? [];
  });
  for (const [at, { family, chain_id, network }] of recipes.entries()) {
    const before = recipes.slice(0, at).find((one) => one.family === family && one.chain_id === chain_id);
    if (before)
      problems.push({ path: network, text: `has the chain_id of ${before.network}, expected one file for each` });
  }
  if (problems.length === 0) return recipes;
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
