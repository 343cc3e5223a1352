/**
 * Names of settings as code writes them: `pool_target` in files is `poolTarget`.
 */

type CamelName<Name> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<CamelName<Rest>>}` : Name;

/** A value whose settings have camel-case names, at any depth. */
export type CamelCased<T> = T extends readonly (infer Item)[]
  ? readonly CamelCased<Item>[]
  : T extends object
    ? { readonly [Name in keyof T as CamelName<Name>]: CamelCased<T[Name]> }
    : T;

const camelName = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Renames the settings of plain objects, at any depth. */
export function camelCased<T>(value: T): CamelCased<T> {
  if (Array.isArray(value)) return value.map(camelCased) as CamelCased<T>;
  if (typeof value !== 'object' || value === null) return value as CamelCased<T>;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [camelName(name), camelCased(inner)]),
  ) as CamelCased<T>;
}
