/** Tests that have something of their own each: a server, a shop, a scene. */
import { test } from 'uvu';

/**
 * Returns what registers such tests, and runs those of the file.
 * @param inside opens it, lets a test use it, and closes it even if the test fails
 */
export function testsIn<Own extends unknown[]>(inside: (use: (...own: Own) => Promise<void>) => Promise<void>) {
  const add = (title: string, use: (...own: Own) => void | Promise<void>): void =>
    test(title, () => inside(async (...own) => use(...own)));
  return Object.assign(add, { run: test.run });
}
