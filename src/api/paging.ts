/**
 * Lists by pages, newest first: the query that all of them have, and what it means. A page begins where an id ends, so
 * that rows which are added meanwhile are neither missed nor repeated.
 */
import * as z from 'zod';
import { refuse } from './errors.ts';

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 100;
/** The last second of ids that sort by time: in the year 2286. */
export const TIME_S_MAX = 9_999_999_999;

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
