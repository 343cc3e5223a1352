/**
 * The JSON Schemas of the OpenAPI document, from the schemas that requests are checked with.
 * @module
 */
import { z } from 'zod';

/** The part of JSON Schema that is written here. */
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
  /** Schemas with an `id` by that name: every schema that was asked for, and all that they refer to. */
  readonly named: Readonly<Record<string, JsonSchema>>;
  /** Returns the schema, or a reference where it has an `id`. */
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

/** Takes out what says nothing, and writes the rest as OpenAPI's tools expect it. */
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
