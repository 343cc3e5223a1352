/**
 * The name of every setting, read from the schemas, and the environment variables that set them.
 * @module
 */
import * as z from 'zod';
import { generalSettings, networkSettings } from './schema.ts';
import { otherVariables, PREFIX } from './variables.ts';

/** Returns the paths of all settings of a schema, groups included: they can be given as a whole. */
function pathsOf(schema: z.core.$ZodType, at: readonly string[]): readonly (readonly string[])[] {
  if (schema instanceof z.ZodObject) {
    const entries = Object.entries<z.core.$ZodType>(schema.shape);
    return [...(at.length > 0 ? [at] : []), ...entries.flatMap(([key, child]) => pathsOf(child, [...at, key]))];
  }
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault) return pathsOf(schema.def.innerType, at);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => pathsOf(option, at));
  if (!(schema instanceof z.ZodPipe)) return schema instanceof z.ZodUndefined ? [] : [at];
  const { in: before, out } = schema.def;
  return pathsOf(before instanceof z.ZodTransform ? out : before, at);
}

/** Returns the path of every setting; those of networks are `networks.*`. */
export function settingPaths(): readonly (readonly string[])[] {
  const networks = [true, false].flatMap((derives) =>
    pathsOf(networkSettings(['a family'], derives), ['networks', '*']),
  );
  const all = [...pathsOf(generalSettings, []), ...networks];
  return [...new Map(all.map((path) => [path.join('.'), path])).values()];
}

/** Returns the name of the variable that sets what is at this path. */
export const variableOf = (path: readonly string[]): string =>
  `${PREFIX}${path.join('__').replaceAll('-', '_').toUpperCase()}`;

/** A name that differs in more than this share of its characters is another name. */
const DIFFERENT_SHARE_MAX = 0.34;

/**
 * Returns the variable that was probably meant: one whose path ends so, or that differs in few characters.
 * @param networks names of networks that there are
 * @returns null if none is like it
 */
export function nearestVariable(name: string, networks: readonly string[]): string | null {
  const paths = settingPaths().flatMap((path) =>
    path[1] === '*' ? networks.map((network) => ['networks', network, ...path.slice(2)]) : [path],
  );
  const known = [...paths.map(variableOf), ...otherVariables];
  const own = name.toUpperCase();
  const ending = known.filter((one) => one.endsWith(`__${own.slice(PREFIX.length)}`));
  if (ending.length === 1) return ending[0] ?? null;
  const charsMax = Math.floor((own.length - PREFIX.length) * DIFFERENT_SHARE_MAX);
  const like = known.map((one) => ({ one, chars: charsBetween(own, one) })).filter(({ chars }) => chars <= charsMax);
  return like.sort((a, b) => a.chars - b.chars)[0]?.one ?? null;
}

/** Counts the characters to insert, remove or replace until the texts are equal (Levenshtein's distance). */
function charsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (const [at, char] of [...a].entries()) {
    const next = [at + 1];
    for (const [to, other] of [...b].entries()) {
      const replaced = (row[to] ?? 0) + (char === other ? 0 : 1);
      next.push(Math.min(replaced, (row[to + 1] ?? 0) + 1, (next[to] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
