/**
 * Checks a request body field by field, and names the field that is wrong as the documentation does.
 */
import * as z from 'zod';
import { type ErrorCode, type Refusal, refuse } from './errors.ts';

/**
 * Checks a body against its schema.
 * @param codeOf returns the code of a field's own, if the documentation has one
 * @throws Refusal `missing_parameter` or `invalid_parameter`, naming the first field that is wrong
 */
export function check<T>(
  schema: z.ZodType<T>,
  body: unknown,
  codeOf: (param: string, value: unknown) => ErrorCode | undefined = () => undefined,
): T {
  const result = schema.safeParse(body, { reportInput: true });
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const param = paramPath(issue?.path ?? []);
  const isMissing = issue?.code === 'invalid_type' && issue.input === undefined;
  const code = codeOf(param, issue?.input);
  throw isMissing ? missing(param, code) : badParam(param, issue?.message ?? 'has a wrong type or value', code);
}

/** Returns `line_items[0].price_data.unit_amount`, `metadata.<key>`. */
function paramPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : `${text}${text && '.'}${String(part)}`),
    '',
  );
}

/** Creates the refusal of one field; `fault` continues the sentence that starts with its name. */
export const badParam = (param: string, fault: string, code: ErrorCode = 'invalid_parameter'): Refusal =>
  refuse(code, { param, message: `${param.slice(0, 200)} ${fault}.` });

/** Creates the refusal of a missing field. */
export const missing = (param: string, code: ErrorCode = 'missing_parameter'): Refusal =>
  refuse(code, { param, message: `${param} is required. Add it to the body.` });

// ── The query ───────────────────────────────────────────────────────────────────────────────────────────────────────

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
