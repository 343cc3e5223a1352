/**
 * Writes the JSON Schemas of the OpenAPI document, from the zod schemas that check requests.
 */
import * as z from 'zod';

/** The part of JSON Schema that is used here. */
export type JsonSchema = {
  $ref?: string;
  type?: string | readonly string[];
  format?: string;
  description?: string;
  enum?: readonly unknown[];
  properties?: Record<string, JsonSchema>;
  required?: readonly string[];
  items?: JsonSchema;
  additionalProperties?: JsonSchema | boolean;
  anyOf?: readonly JsonSchema[];
};

type Override = NonNullable<NonNullable<Parameters<typeof z.toJSONSchema>[1]>['override']>;

export interface SchemaWriter {
  /** The schemas that have an `id`, by that id: every schema written so far, and all that they refer to. */
  readonly named: Readonly<Record<string, JsonSchema>>;
  /** Returns the schema, or a reference to it if it has an `id`. */
  write(schema: z.ZodType): JsonSchema;
}

export function createSchemaWriter(): SchemaWriter {
  const named: Record<string, JsonSchema> = {};
  return {
    named,
    write(schema) {
      // Inside an array, a schema with an id becomes a reference too.
      const written = z.toJSONSchema(z.array(schema), { io: 'input', override: shorten });
      const { items, $defs = {} } = JSON.parse(
        JSON.stringify(written).replaceAll('"#/$defs/', '"#/components/schemas/'),
      );
      for (const [name, definition] of Object.entries<JsonSchema>($defs)) named[name] ??= definition;
      return items;
    },
  };
}

/** Removes what adds nothing, and writes the rest as OpenAPI tools expect it. */
const shorten: Override = ({ zodSchema, jsonSchema }) => {
  const { id: _, const: only, propertyNames: _names, ...schema } = jsonSchema;
  if (zodSchema._zod.def.type === 'number') {
    const { maximum } = z.globalRegistry.get(zodSchema) ?? {};
    if (schema.maximum === Number.MAX_SAFE_INTEGER && maximum === undefined) delete schema.maximum;
    if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  }
  if (only !== undefined) schema.enum = [only];
  const [inner, none] = schema.anyOf ?? [];
  if (inner && none?.type === 'null' && !inner.$ref) {
    delete schema.anyOf;
    const values = inner.enum && { enum: [...inner.enum, null] };
    Object.assign(schema, { ...inner, ...values, ...schema, type: [inner.type, 'null'] });
  }
  for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
  Object.assign(jsonSchema, schema);
};
