/** An answer of `quayside show`: one thing, and the links of the chain from a payment to its merchant. */

/**
 * - `ok`: it is done, or ended well. `waiting`: it goes on with time, or with what its text names.
 * - `broken`: it does not go on by itself, or failed. `note`: what helps to look further.
 */
export type Mark = 'note' | 'ok' | 'waiting' | 'broken';

/** `next` says what to do. */
export type Link = Readonly<{ step: string; mark: Mark; text: string; next?: string; links?: readonly Link[] }>;

/** One thing that was named: its parts as lines for people, the same for programs, and what became of it. */
export type Shown = Readonly<{ kind: string; json: object; lines?: readonly string[]; links: readonly Link[] }>;

/** Returns a link; `next` and `links` are left out when there are none. */
export const link = (
  step: string,
  mark: Mark,
  text: string,
  next?: string | null,
  links: readonly Link[] = [],
): Link => ({ step, mark, text, ...(next && { next }), ...(links.length > 0 && { links }) });

/** From the least to the most that wants somebody. */
const marks: readonly Mark[] = ['note', 'ok', 'waiting', 'broken'];

/** Returns the worst mark of a link and of all that depends on it. */
export const worstMark = ({ mark, links = [] }: Link): Mark =>
  links.map(worstMark).reduce((worst, one) => (marks.indexOf(one) > marks.indexOf(worst) ? one : worst), mark);

/** Returns the first broken link in the order in which a payment passes them; null if none is. */
export function firstBroken(one: Link): Link | null {
  if (one.mark === 'broken') return one;
  for (const child of one.links ?? []) {
    const found = firstBroken(child);
    if (found) return found;
  }
  return null;
}
