/**
 * JSON Schemas as the reference shows them: short, and named if used in several places.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { createSchemaWriter } from '../../src/api/json-schema.ts';

const write = (schema: z.ZodType) => createSchemaWriter().write(schema);
const reference = { $ref: '#/components/schemas/JsonSchemaTestItem' };
const item = z.object({ name: z.string() }).meta({ id: 'JsonSchemaTestItem' });

test('what adds nothing is left out', () => {
  assert.equal(write(z.int()), { type: 'integer' });
  assert.equal(write(z.int().min(0).max(9)), { type: 'integer', minimum: 0, maximum: 9 });
  const exact = z.int().meta({ maximum: Number.MAX_SAFE_INTEGER });
  assert.equal(write(exact), { type: 'integer', maximum: Number.MAX_SAFE_INTEGER }, 'unless it is stated');
  assert.equal(write(z.record(z.string(), z.boolean())), {
    type: 'object',
    additionalProperties: { type: 'boolean' },
  });
  assert.equal(write(z.object({ a: z.string().optional() })), {
    type: 'object',
    properties: { a: { type: 'string' } },
  });
});

test('null is a further type, and a further value of an enumeration', () => {
  const text = z.string().nullish().meta({ description: 'Some text.' });
  assert.equal(write(text), { type: ['string', 'null'], description: 'Some text.' });
  assert.equal(write(z.enum(['a', 'b']).nullable()), { type: ['string', 'null'], enum: ['a', 'b', null] });
  assert.equal(write(z.literal('a')), { type: 'string', enum: ['a'] });
});

test('a schema with an id is written once and referred to', () => {
  const { write: writeOne, named } = createSchemaWriter();
  assert.equal(writeOne(item), reference);
  assert.equal(writeOne(z.object({ all: z.array(item), one: item.nullable() })), {
    type: 'object',
    properties: { all: { type: 'array', items: reference }, one: { anyOf: [reference, { type: 'null' }] } },
    required: ['all', 'one'],
  });
  assert.equal(named, {
    JsonSchemaTestItem: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  });
});

test.run();
