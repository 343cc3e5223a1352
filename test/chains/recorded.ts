/**
 * The recordings of one client version. A recording that a test names counts as read; what is recorded of a call that
 * we make, and is read nowhere, fails the last test.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { column } from '../support/fields.ts';
import { type Json, type Recording, readRecordings, theRecording } from '../support/recordings.ts';

export function openRecordings(folder: string) {
  const recordings = readRecordings(folder);
  const read = new Set<string>();
  /** Returns a recording, which must exist. */
  const recording = (name: string): Recording => {
    read.add(name);
    return theRecording(recordings, name);
  };
  return {
    recordings,
    recording,
    /** Returns the parsed result of a recording; integers above 2^53 are rounded. */
    resultOf: (name: string): Json => recording(name).response.result,
    /** Registers a test that does the same with each recording of a table. */
    readsEach<T>(table: Readonly<Record<string, T>>, title: string, run: (one: Recording, expected: T) => unknown) {
      test(title, async () => {
        for (const [name, expected] of Object.entries(table)) {
          try {
            await run(recording(name), expected);
          } catch (error) {
            (error as Error).message = `${name}: ${(error as Error).message}`;
            throw error;
          }
        }
      });
    },
    /** Registers the last test. @param isMade whether a recording is of a call that we make */
    expectAllRead(isMade: (recording: Recording, read: ReadonlySet<string>) => boolean) {
      test('no recording of a call that is made is left unread', () => {
        const unread = [...recordings.values()].filter((one) => isMade(one, read) && !read.has(one.name));
        assert.equal(column(unread, 'name'), []);
      });
    },
  };
}
