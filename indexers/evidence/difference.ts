/**
 * Where the database and the chain disagree.
 *
 * @module
 */
import { DIFFERENCES_LISTED_MAX } from '../../src/evidence/certificate.ts';

/** A code and a sentence, as they are in a certificate. */
export type Difference = Readonly<{ code: string; message: string }>;

/** Counts differences and keeps the first of them. */
export function createDifferenceList() {
  const listed: Difference[] = [];
  let count = 0;
  return {
    /** @param counted how many there are, if `more` does not list all of them */
    add(more: readonly Difference[], counted = more.length): void {
      count += counted;
      listed.push(...more.slice(0, DIFFERENCES_LISTED_MAX - listed.length));
    },
    all: () => ({ count, listed: [...listed] }),
  };
}
