/**
 * Flattens a JSON Schema of the OpenAPI document into table rows: one for each field, nested ones by their full path.
 */
import type { JsonSchema } from './json-schema.ts';
import type { OpenApiDocument } from './openapi.ts';

/** `path` as in errors, with `[]` for any index: `line_items[].price_data.unit_amount`. */
export type Field = Readonly<{ path: string; type: string; isRequired: boolean; notes: string }>;

/** One shape that the content can have; `name` if there are several. */
type Shape = Readonly<{ name: string | null; fields: readonly Field[] }>;

/** Deeper than any schema here. Stops at a schema that refers to itself. */
const DEPTH_MAX = 12;

/**
 * Returns the shapes of a schema: one, or each member of a union.
 * @param elsewhere names of schemas that have a table of their own: a field that holds one says its name only
 */
export function fieldsOf(
  document: OpenApiDocument,
  schema: JsonSchema,
  elsewhere: ReadonlySet<string> = new Set(),
): Shape[] {
  const shapes = schema.anyOf ?? [schema];
  return shapes.map((shape) => ({
    name: shapes.length > 1 ? (shape.$ref?.split('/').at(-1) ?? null) : null,
    fields: rows(document, resolve(document, shape), { prefix: '', depth: 0, elsewhere }),
  }));
}

type Place = Readonly<{ prefix: string; depth: number; elsewhere: ReadonlySet<string> }>;

function rows(document: OpenApiDocument, schema: JsonSchema, place: Place): Field[] {
  const { prefix, depth, elsewhere } = place;
  if (depth > DEPTH_MAX) return [];
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const own = resolve(document, property);
    const path = prefix ? `${prefix}.${name}` : name;
    const named = nameElsewhere(property, elsewhere);
    const row = {
      path,
      type: named ?? typeName(document, own),
      isRequired: isRequired(schema, name, own),
      notes: own.description ?? '',
    };
    if (named !== null) return [row];
    const item = own.items && resolve(document, own.items);
    const inside = { prefix: item ? `${path}[]` : path, depth: depth + 1, elsewhere };
    return [row, ...rows(document, item ?? own, inside)];
  });
}

/** Returns the name of what has a table of its own, or null. */
function nameElsewhere({ $ref, anyOf, items }: JsonSchema, elsewhere: ReadonlySet<string>): string | null {
  if (items) {
    const name = nameElsewhere(items, elsewhere);
    return name === null ? null : `array of ${name}`;
  }
  const names = [{ $ref }, ...(anyOf ?? [])].flatMap((one) => one.$ref?.split('/').at(-1) ?? []);
  return names.length > 0 && names.every((name) => elsewhere.has(name)) ? names.join(' or ') : null;
}

/** Follows a reference and keeps the keywords beside it. */
function resolve(document: OpenApiDocument, { $ref, ...own }: JsonSchema): JsonSchema {
  const name = $ref?.split('/').at(-1);
  return { ...(name && document.components.schemas[name]), ...own };
}

const isRequired = (parent: JsonSchema, name: string, own: JsonSchema): boolean =>
  (parent.required?.includes(name) ?? false) && !typesOf(own).includes('null');

const typesOf = ({ type }: JsonSchema): readonly string[] => (typeof type === 'string' ? [type] : (type ?? []));

function typeName(document: OpenApiDocument, schema: JsonSchema): string {
  const type = typesOf(schema).find((one) => one !== 'null') ?? 'any';
  if (schema.enum) return schema.enum.filter((value) => value !== null).join(' | ');
  if (type === 'array') return `array of ${schema.items ? typeName(document, resolve(document, schema.items)) : 'any'}`;
  if (type === 'object' && typeof schema.additionalProperties === 'object' && !schema.properties) {
    return `object of ${typeName(document, resolve(document, schema.additionalProperties))}`;
  }
  return schema.format ?? type;
}
