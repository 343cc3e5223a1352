/** Recipes: what is known about the nodes of a network, as data in `recipes/`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';

const dateText = z.string().regex(/^\d{4}-\d{2}-\d{2}$/, 'expected a date such as 2026-11-03');
const moment = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/, 'expected a time such as 2026-12-08T02:30:00Z');
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
  releases: z.array(release),
});

export type Release = z.infer<typeof release>;
export type NetworkRecipe = z.infer<typeof networkRecipe>;

const shipped = fileURLToPath(new URL('./recipes/', import.meta.url));

/** Reads every recipe. */
export const readRecipes = (): readonly NetworkRecipe[] =>
  readdirSync(shipped)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => networkRecipe.parse(JSON.parse(readFileSync(join(shipped, name), 'utf8'))));

/** Returns the recipe of a network, which its family and chain id identify; null if there is none. */
export const recipeOf = (
  recipes: readonly NetworkRecipe[],
  { family, chainId }: Pick<NetworkConfig, 'family' | 'chainId'>,
): NetworkRecipe | null => recipes.find((one) => one.family === family && one.chain_id === chainId) ?? null;
