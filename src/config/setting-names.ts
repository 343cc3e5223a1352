/** The name of every setting, read from the schemas. */
import * as z from 'zod';
import { generalSettings, networkSettings } from './schema.ts';

/** A setting or a group of them. `fallback`: what it is where no layer says anything. */
export type NamedSetting = Readonly<{ path: readonly string[]; fallback: unknown }>;

/** Returns all settings of a schema, groups included: they can be given as a whole. */
function namesIn(schema: z.core.$ZodType, path: readonly string[], fallback: unknown): readonly NamedSetting[] {
  if (schema instanceof z.ZodObject && !schema.meta()?.isRecord) {
    const group = path.length > 0 ? [{ path, fallback }] : [];
    const entries = Object.entries<z.core.$ZodType>(schema.shape);
    return [...group, ...entries.flatMap(([key, child]) => namesIn(child, [...path, key], undefined))];
  }
  if (schema instanceof z.ZodPrefault) return namesIn(schema.def.innerType, path, schema.def.defaultValue);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return namesIn(schema.def.innerType, path, fallback);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => namesIn(option, path, fallback));
  if (schema instanceof z.ZodPipe) {
    const { in: before, out } = schema.def;
    return namesIn(before instanceof z.ZodTransform ? out : before, path, fallback);
  }
  return schema instanceof z.ZodUndefined ? [] : [{ path, fallback }];
}

const byPath = (all: readonly NamedSetting[]): readonly NamedSetting[] => [
  ...new Map(all.map((one) => [one.path.join('.'), one])).values(),
];

/** Returns every setting; those of networks are `networks.*`. */
export const namesOfAll = (): readonly NamedSetting[] =>
  byPath([
    ...namesIn(generalSettings, [], undefined),
    ...[true, false].flatMap((derives) =>
      namesIn(networkSettings(['a family'], derives), ['networks', '*'], undefined),
    ),
  ]);
