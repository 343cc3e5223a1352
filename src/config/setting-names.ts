/**
 * The name of every setting, read from the schemas, and the environment variables that set them.
 */
import * as z from 'zod';
import { generalSettings, networkSettings } from './schema.ts';
import { type AboutSetting, aboutSetting } from './setting.ts';
import { otherVariables, PREFIX } from './variables.ts';

/** A setting or a group of them. `fallback`: what it is where no layer says anything. */
export type NamedSetting = Readonly<{ path: readonly string[]; about: AboutSetting; fallback: unknown }>;

const unknownAbout: AboutSetting = { expected: '', isSecret: false };

/** Returns all settings of a schema, groups included: they can be given as a whole. */
function namesIn(schema: z.core.$ZodType, path: readonly string[], fallback: unknown): readonly NamedSetting[] {
  const about = aboutSetting(schema);
  if (about) return [{ path, about, fallback }];
  if (schema instanceof z.ZodObject) {
    const group = path.length > 0 ? [{ path, about: unknownAbout, fallback }] : [];
    const entries = Object.entries<z.core.$ZodType>(schema.shape);
    return [...group, ...entries.flatMap(([key, child]) => namesIn(child, [...path, key], undefined))];
  }
  if (schema instanceof z.ZodPrefault) return namesIn(schema.def.innerType, path, schema.def.defaultValue);
  if (schema instanceof z.ZodOptional) return namesIn(schema.def.innerType, path, fallback);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => namesIn(option, path, fallback));
  if (schema instanceof z.ZodArray) {
    const item = schema.element instanceof z.ZodType ? aboutSetting(schema.element) : null;
    return [{ path, about: item ? { ...item, expected: `a list, each ${item.expected}` } : unknownAbout, fallback }];
  }
  if (!(schema instanceof z.ZodPipe)) {
    return schema instanceof z.ZodUndefined ? [] : [{ path, about: unknownAbout, fallback }];
  }
  const { in: before, out } = schema.def;
  return namesIn(before instanceof z.ZodTransform ? out : before, path, fallback);
}

const byPath = (all: readonly NamedSetting[]): readonly NamedSetting[] => [
  ...new Map(all.map((one) => [one.path.join('.'), one])).values(),
];

/** Returns every general setting. */
export const generalNames = (): readonly NamedSetting[] => byPath(namesIn(generalSettings, [], undefined));

/** Returns every setting of one network. @param derives whether its family derives addresses from an xpub */
export const networkNames = (network: string, derives: boolean): readonly NamedSetting[] =>
  byPath(namesIn(networkSettings(['a family'], derives), ['networks', network], undefined));

/** Returns every setting; those of networks are `networks.*`. */
export const namesOfAll = (): readonly NamedSetting[] =>
  byPath([...generalNames(), ...networkNames('*', true), ...networkNames('*', false)]);

/** Returns the path of every setting. */
export const settingPaths = (): readonly (readonly string[])[] => namesOfAll().map(({ path }) => path);

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
export function charsBetween(a: string, b: string): number {
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
