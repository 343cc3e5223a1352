/**
 * Seeds that once found a bug, with a description. They are run each time and never removed.
 */

export const notableSeeds: readonly Readonly<{ seed: number; found: string }>[] = [
  {
    seed: 0,
    found:
      'a node is unreachable while it is paid in time, and another network is paid late: when the first is read, both count at once, so that detected and completed have the same moment',
  },
  {
    seed: 68,
    found:
      'a node loses 19 blocks after a session was created while our tip was behind its head: the payment, in a block with a number that existed before, counted as older than the session',
  },
];
