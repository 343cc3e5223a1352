/**
 * Flattens a JSON Schema of the OpenAPI document into table rows: one for each field, nested ones by their full path.
 * @module
 */
import type { JsonSchema } from './json-schema.ts';
import type { OpenApiDocument } from './openapi.ts';

/** `path` as in errors, with `[]` for any index: `line_items[].price_data.unit_amount`. */
export type Field = Readonly<{ path: string; type: string; isRequired: boolean; notes: string }>;

/** One shape that the content can have; `name` if there are several. */
export type Shape = Readonly<{ name: string | null; fields: readonly Field[] }>;

/** Deeper than any schema here. Stops at a schema that refers to itself. */
const DEPTH_MAX = 12;

/** Returns the shapes of a schema: one, or each member of a union. */
export function fieldsOf(document: OpenApiDocument, schema: JsonSchema): Shape[] {
  const shapes = schema.anyOf ?? [schema];
  return shapes.map((shape) => ({
    name: shapes.length > 1 ? (shape.$ref?.split('/').at(-1) ?? null) : null,
    fields: rows(document, resolve(document, shape), '', 0),
  }));
}

function rows(document: OpenApiDocument, schema: JsonSchema, prefix: string, depth: number): Field[] {
  if (depth > DEPTH_MAX) return [];
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const own = resolve(document, property);
    const path = prefix ? `${prefix}.${name}` : name;
    const row = {
      path,
      type: typeName(document, own),
      isRequired: isRequired(schema, name, own),
      notes: own.description ?? '',
    };
    const item = own.items && resolve(document, own.items);
    return [row, ...(item ? rows(document, item, `${path}[]`, depth + 1) : rows(document, own, path, depth + 1))];
  });
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
