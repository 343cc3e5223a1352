/**
 * Flattens a JSON Schema of the OpenAPI document into the rows of a table: one per field, nested ones by their full path.
 * @module
 */
import type { OpenApiDocument } from './openapi.ts';

/** `path` as the errors write it, with `[]` for "each": `line_items[].price_data.unit_amount`. */
export type Field = Readonly<{ path: string; type: string; isRequired: boolean; notes: string }>;

/** One shape that the content may have; `name` when there are several. */
export type Shape = Readonly<{ name: string | null; fields: readonly Field[] }>;

/** The part of JSON Schema that the generator writes. */
type Schema = Readonly<{
  $ref?: string;
  type?: string | readonly string[];
  format?: string;
  description?: string;
  enum?: readonly unknown[];
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  anyOf?: readonly Schema[];
  allOf?: readonly Schema[];
}>;

/** Deeper than any schema here; a schema that refers to itself would not end otherwise. */
const DEPTH_MAX = 12;

/** The shapes of a schema: one, or each member of a union. */
export function fieldsOf(document: OpenApiDocument, schema: unknown): Shape[] {
  const root = schema as Schema;
  const shapes = root.anyOf ?? [root];
  return shapes.map((shape) => ({
    name: shapes.length > 1 ? (shape.$ref?.split('/').at(-1) ?? null) : null,
    fields: rows(document, resolve(document, shape), '', 0),
  }));
}

function rows(document: OpenApiDocument, schema: Schema, prefix: string, depth: number): Field[] {
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

/** Follows a reference; what stands beside it is kept. */
function resolve(document: OpenApiDocument, schema: Schema): Schema {
  const [first, ...others] = schema.allOf ?? [schema];
  const name = first?.$ref?.split('/').at(-1);
  const target = name ? (document.components?.schemas?.[name] as Schema | undefined) : first;
  return Object.assign({}, target, ...others) as Schema;
}

const isRequired = (parent: Schema, name: string, own: Schema): boolean =>
  (parent.required?.includes(name) ?? false) && !typesOf(own).includes('null');

const typesOf = ({ type }: Schema): readonly string[] => (typeof type === 'string' ? [type] : (type ?? []));

function typeName(document: OpenApiDocument, schema: Schema): string {
  const type = typesOf(schema).find((one) => one !== 'null') ?? 'any';
  if (schema.enum) return schema.enum.filter((value) => value !== null).join(' | ');
  if (type === 'array') return `array of ${schema.items ? typeName(document, resolve(document, schema.items)) : 'any'}`;
  if (type === 'object' && typeof schema.additionalProperties === 'object' && !schema.properties) {
    return `object of ${typeName(document, resolve(document, schema.additionalProperties))}`;
  }
  return schema.format ?? type;
}
