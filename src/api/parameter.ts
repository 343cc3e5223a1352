/**
 * Checks a request body field by field, and names the field that is wrong as the documentation does.
 */
import type { z } from 'zod';
import { type ErrorCode, type Refusal, refuse } from './errors.ts';

/**
 * Checks a body against its schema.
 * @throws Refusal `missing_parameter` or `invalid_parameter`, naming the first field that is wrong
 */
export function check<T>(schema: z.ZodType<T>, body: unknown): T {
  const result = schema.safeParse(body, { reportInput: true });
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const param = paramPath(issue?.path ?? []);
  const isMissing = issue?.code === 'invalid_type' && issue.input === undefined;
  throw isMissing ? missing(param) : badParam(param, issue?.message ?? 'has a wrong type or value');
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
export const missing = (param: string): Refusal =>
  refuse('missing_parameter', { param, message: `${param} is required. Add it to the body.` });
