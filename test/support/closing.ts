/** What one test opens is closed after it, the newest first, even if it fails. */
import { test } from 'uvu';

const closers: (() => unknown)[] = [];
test.after.each(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Closes this after the test that runs. Tests of one file that share something close it by themselves. */
export function closing<T extends Readonly<{ close(): unknown }>>(one: T): T {
  closers.push(() => one.close());
  return one;
}
