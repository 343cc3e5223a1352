/**
 * How many random cases a property is tried on.
 */

/** Of the cases of a deep run, a usual one takes one in this many. */
const SHARE = 6;

/** Returns the number of cases. With `TEST_DEEP=1` in the environment, these are all. */
export const runs = (deep: number): number => (process.env.TEST_DEEP ? deep : Math.ceil(deep / SHARE));
