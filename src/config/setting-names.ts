/**
 * The name of every setting, read from the schemas, and the environment variables that set them.
 */
import * as z from 'zod';
import { generalSettings, networkSettings } from './schema.ts';
import { type AboutSetting, aboutSetting } from './setting.ts';
import { PREFIX } from './variables.ts';

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
const generalNames = (): readonly NamedSetting[] => byPath(namesIn(generalSettings, [], undefined));

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
