/**
 * Forms that are sent twice: a second click gets the first one's answer, and what a form makes has one id however often
 * it is sent.
 */
import { createHash } from 'node:crypto';
import { type Html, html } from '../lib/html.ts';
import { sortableId } from '../lib/id.ts';

/** How long a form that is sent again gets the same answer. It may show a secret, so it is short. */
const REPEAT_MS = 10_000;
const ANSWERS_MAX = 1_000;

const ID_TIME_CHARS = 10;
const SORTABLE = /^[0-9a-hjkmnp-tv-z]{26}$/;
const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz';

/** Names one rendering of a form. */
export const onceField = (nowMs: number): Html => html`<input type="hidden" name="once" value="${sortableId(nowMs)}">`;

/**
 * Returns the id, without its prefix, of what a form makes: the same whenever that form is sent. The session is part of
 * it, so nobody can choose another's.
 */
export function idOfForm(
  { formToken }: Readonly<{ formToken: string }>,
  once: string | undefined,
  nowMs: number,
): string {
  const given = once !== undefined && SORTABLE.test(once) ? once : sortableId(nowMs);
  const digest = createHash('sha256').update(`${formToken} ${given}`).digest();
  const rest = [...digest.subarray(0, given.length - ID_TIME_CHARS)].map((byte) => CROCKFORD.charAt(byte & 31));
  return given.slice(0, ID_TIME_CHARS) + rest.join('');
}

type Kept<T> = Readonly<{ untilMs: number; answer: Promise<T> }>;

/** Returns a function that does work once for a key, and gives its result to those who ask again within seconds. */
export function createOnce<T>() {
  const kept = new Map<string, Kept<T>>();
  return (key: string, nowMs: number, work: () => Promise<T>): Promise<T> => {
    for (const [old, { untilMs }] of kept) {
      if (untilMs > nowMs && kept.size < ANSWERS_MAX) break;
      kept.delete(old);
    }
    const earlier = kept.get(key);
    if (earlier) return earlier.answer;
    const answer = work();
    kept.set(key, { untilMs: nowMs + REPEAT_MS, answer });
    answer.catch(() => kept.delete(key));
    return answer;
  };
}
