/**
 * Seeds that once found something, with what it was. They are run each time and never removed.
 * @module
 */

export const notableSeeds: readonly Readonly<{ seed: number; found: string }>[] = [];
