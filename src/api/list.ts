/**
 * Lists: an endpoint that answers a query with a page, newest first.
 */
import * as z from 'zod';
import { type Caller, type Endpoint, endpoint } from './endpoint.ts';
import { refuse } from './errors.ts';

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 100;
/** The last second of ids that sort by time: in the year 2286. */
const TIME_S_MAX = 9_999_999_999;

const timeS = () =>
  z
    .int('must be Unix seconds in digits')
    .max(TIME_S_MAX, `must be at most ${TIME_S_MAX}`)
    .meta({ format: 'int64', maximum: TIME_S_MAX });

/** Returns the parameters that every list has. */
const pagingFields = (things: string, id: z.ZodType<string>) => ({
  limit: z
    .int(`must be a whole number from 1 to ${LIMIT_MAX}`)
    .min(1, 'must be at least 1')
    .max(LIMIT_MAX, `must be at most ${LIMIT_MAX}`)
    .optional()
    .meta({ description: `How many ${things} to return, at most ${LIMIT_MAX}; ${LIMIT_DEFAULT} if absent.` }),
  starting_after: id
    .optional()
    .meta({ description: `Only ${things} older than this id: the last one of the page before.` }),
  ending_before: id.optional().meta({
    description: `Only ${things} newer than this id, the nearest of them. Not together with \`starting_after\`.`,
  }),
  created_from: timeS()
    .optional()
    .meta({ description: `Only ${things} from this time on, in Unix seconds.` }),
  created_to: timeS()
    .optional()
    .meta({ description: `Only ${things} before this time, in Unix seconds.` }),
});

/** The parameters that every list has, as they were read. */
export type Paging = z.infer<z.ZodObject<ReturnType<typeof pagingFields>>>;

type ListOf<Filters extends z.ZodRawShape, Row> = Pick<
  Endpoint,
  'path' | 'scope' | 'operationId' | 'tag' | 'summary' | 'description' | 'renames'
> &
  Readonly<{
    /** Name of the page's schema. */
    name: string;
    item: z.ZodType;
    /** Rows of the example. */
    examples: readonly unknown[];
    /** The name of the rows, in the plural. */
    things: string;
    /** Schema of an id to go on from. */
    id: z.ZodType<string>;
    filters: Filters;
    /**
     * Finds rows, in the order of `first`.
     * @param limit one more than the page has
     */
    find(
      caller: Caller,
      query: Paging & z.infer<z.ZodObject<Filters>>,
      page: Readonly<{ first: 'newest' | 'oldest'; limit: number }>,
    ): Promise<readonly Row[]>;
    /** Writes rows as the API shows them. */
    show(rows: readonly Row[], caller: Caller): readonly unknown[] | Promise<readonly unknown[]>;
  }>;

/** Returns the schema of a page. */
export const pageSchema = (name: string, item: z.ZodType) =>
  z
    .object({
      object: z.literal('list').meta({ description: 'Always `list`.' }),
      data: z.array(item).meta({ description: 'Newest first.' }),
      has_more: z.boolean().meta({ description: 'True if there are more in the direction that was asked for.' }),
    })
    .meta({ id: name });

/** Returns the endpoint of a list. */
export function listEndpoint<Filters extends z.ZodRawShape, Row>(list: ListOf<Filters, Row>): Endpoint {
  const { name, item, examples, things, id, filters, find, show, ...rest } = list;
  return endpoint({
    ...rest,
    method: 'get',
    query: z.object({ ...pagingFields(things, id), ...filters }),
    answer: [pageSchema(name, item), { object: 'list', data: examples, has_more: false }],
    async run({ caller, query }) {
      const { limit = LIMIT_DEFAULT, starting_after: after, ending_before: before } = query as Paging;
      if (after !== undefined && before !== undefined) {
        const message = 'Use either starting_after or ending_before, not both.';
        throw refuse('invalid_parameter', { param: 'ending_before', message });
      }
      const first = before === undefined ? 'newest' : 'oldest';
      const found = await find(caller, query as Parameters<typeof find>[1], { first, limit: limit + 1 });
      const data = [...(await show(found.slice(0, limit), caller))];
      if (first === 'oldest') data.reverse();
      return { body: { object: 'list', data, has_more: found.length > limit } };
    },
  });
}

/**
 * Returns the range of ids that a query asks for, where ids sort by time.
 * @param idAt returns the first id of a time in Unix ms
 */
export function idRange(query: Paging, idAt: (ms: number) => string): Readonly<{ fromId: string; beforeId: string }> {
  const { created_from = 0, created_to = TIME_S_MAX, starting_after: after, ending_before: before } = query;
  const [oldest, newest] = [idAt(created_from * 1000), idAt(created_to * 1000)];
  // Sorts directly behind the id that the range leaves out.
  const next = before === undefined ? '' : `${before}\u0000`;
  return {
    fromId: next > oldest ? next : oldest,
    beforeId: after !== undefined && after < newest ? after : newest,
  };
}
