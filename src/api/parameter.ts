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

// ── Pages of a list ─────────────────────────────────────────────────────────────────────────────────────────────────

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 100;
/** The last second of ids that sort by time: in the year 2286. */
const TIME_S_MAX = 9_999_999_999;

const timeS = () =>
  z
    .int('must be Unix seconds in digits')
    .max(TIME_S_MAX, `must be at most ${TIME_S_MAX}`)
    .meta({ format: 'int64', maximum: TIME_S_MAX });

/**
 * Returns the parameters that every list has.
 * @param things what is listed, in the plural
 * @param id the schema of an id
 */
export const pagingFields = (things: string, id: () => z.ZodString) => ({
  limit: z
    .int(`must be a whole number from 1 to ${LIMIT_MAX}`)
    .min(1, 'must be at least 1')
    .max(LIMIT_MAX, `must be at most ${LIMIT_MAX}`)
    .optional()
    .meta({ description: `How many ${things} to return, at most ${LIMIT_MAX}; ${LIMIT_DEFAULT} if absent.` }),
  starting_after: id()
    .optional()
    .meta({ description: `Only ${things} older than this id: the last one of the page before.` }),
  ending_before: id()
    .optional()
    .meta({
      description: `Only ${things} newer than this id, the nearest of them. Not together with \`starting_after\`.`,
    }),
  created_from: timeS()
    .optional()
    .meta({ description: `Only ${things} from this time on, in Unix seconds.` }),
  created_to: timeS()
    .optional()
    .meta({ description: `Only ${things} before this time, in Unix seconds.` }),
});

/** Returns the schema of a page. */
export const listSchema = <T extends z.ZodType>(item: T) =>
  z.object({
    object: z.literal('list').meta({ description: 'Always `list`.' }),
    data: z.array(item).meta({ description: 'Newest first.' }),
    has_more: z.boolean().meta({ description: 'True if there are more in the direction that was asked for.' }),
  });

type Paging = Readonly<{
  limit?: number | undefined;
  starting_after?: string | undefined;
  ending_before?: string | undefined;
}>;

type InTime = Omit<Paging, 'limit'> & Readonly<{ created_from?: number | undefined; created_to?: number | undefined }>;

/**
 * Returns the range of ids that a query asks for, where ids sort by time.
 * @param idAt returns the first id of a time in Unix ms
 */
export function idRange(query: InTime, idAt: (ms: number) => string): Readonly<{ fromId: string; beforeId: string }> {
  const { created_from = 0, created_to = TIME_S_MAX, starting_after: after, ending_before: before } = query;
  const [oldest, newest] = [idAt(created_from * 1000), idAt(created_to * 1000)];
  // Sorts directly behind the id that the range leaves out.
  const next = before === undefined ? '' : `${before}\u0000`;
  return {
    fromId: next > oldest ? next : oldest,
    beforeId: after !== undefined && after < newest ? after : newest,
  };
}

/**
 * Returns which end of the list comes first, and how many rows a page has.
 * @throws Refusal `invalid_parameter` for both directions at once
 */
export function readPaging({ limit = LIMIT_DEFAULT, starting_after: after, ending_before: before }: Paging) {
  if (after !== undefined && before !== undefined) {
    throw refuse('invalid_parameter', {
      param: 'ending_before',
      message: 'Use either starting_after or ending_before, not both.',
    });
  }
  return { limit, first: before === undefined ? 'newest' : 'oldest' } as const;
}

/**
 * Returns a page from the rows that were found.
 * @param found one row more than the page has, if there is one; in the order of `first`
 * @param show writes a row as the API shows it
 */
export function pageOf<T>(
  found: readonly T[],
  { limit, first }: ReturnType<typeof readPaging>,
  show: (row: T) => unknown,
) {
  const data = found.slice(0, limit).map(show);
  if (first === 'oldest') data.reverse();
  return { object: 'list' as const, data, has_more: found.length > limit };
}
