/**
 * Reads the query of a list, strictly: a filter that is misspelt would return more than was asked for. A
 * parameter comes once unless its schema is a list.
 */
import * as z from 'zod';
import { badParam } from './parameter.ts';

/** Digits as they are usually written: no sign, no leading zero, no exponent. */
const WHOLE = /^(0|[1-9]\d{0,14})$/;

/**
 * Reads a query.
 * @param schema its parameters: texts, whole numbers, and lists of texts, which are given by repeating the parameter
 * @throws Refusal `invalid_parameter`, naming the first parameter that is wrong or unknown
 */
export function readQuery<T extends z.ZodObject>(schema: T, search: URLSearchParams): z.infer<T> {
  const unknown = [...search.keys()].find((name) => name !== '' && !Object.hasOwn(schema.shape, name));
  if (unknown !== undefined) throw badParam(unknown, 'is not a parameter of this call');
  const given: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(schema.shape)) {
    const values = search.getAll(name);
    const kind = field instanceof z.ZodOptional ? field.unwrap() : field;
    const [first, ...others] = values;
    if (first === undefined) continue;
    if (kind instanceof z.ZodArray) given[name] = values;
    else if (others.length > 0) throw badParam(name, 'must be given once');
    else given[name] = kind instanceof z.ZodNumber && WHOLE.test(first) ? Number(first) : first;
  }
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw badParam(String(issue?.path[0] ?? 'query'), issue?.message ?? 'has a wrong value');
}
