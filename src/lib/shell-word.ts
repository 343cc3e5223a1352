/**
 * Words of a command, as a shell reads them.
 */

/** Returns a word as a POSIX shell reads it. */
export const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
