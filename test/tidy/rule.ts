/**
 * A rule of `test/tidy.test.ts`: it reads all sources and returns one sentence for each finding, which says what to do.
 */
import type { Sources } from './source-tree.ts';

export type Find = (sources: Sources) => readonly string[];

/** Files, by path and text. */
type Example = readonly [what: string, files: Readonly<Record<string, string>>];

/** `caught`: files that must raise one finding more than no file does; `passed`: files that must raise none more. */
export type Rule = Readonly<{ name: string; find: Find; caught: readonly Example[]; passed?: readonly Example[] }>;
