/** Closes parts after the test that opened them, the newest first, even if it fails. */
import { test } from 'uvu';

const closers: (() => unknown)[] = [];

// A process runs several files, and each run of the tests takes its own hooks only.
const { run } = test;
test.run = () => {
  test.after.each(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });
  run();
};

/** Closes this after the test that runs. Tests of one file that share something close it by themselves. */
export function closing<T extends Readonly<{ close(): unknown }>>(one: T): T {
  closers.push(() => one.close());
  return one;
}
