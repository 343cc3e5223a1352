/**
 * Problems with the settings, and the check of one part of them against its schema.
 * @module
 */
import type { z } from 'zod';
import { pathText } from './layers.ts';

export type Problem = Readonly<{ path: string; text: string }>;

/** Checks one part against its schema. @returns the settings, or null after adding to `problems` */
export function check<T extends z.ZodType>(
  problems: Problem[],
  at: readonly string[],
  schema: T,
  value: unknown,
): z.infer<T> | null {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  for (const issue of result.error.issues) {
    const path = [...at, ...issue.path];
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) problems.push({ path: pathText([...path, key]), text: 'there is no such setting' });
    } else problems.push({ path: pathText(path), text: issue.message });
  }
  return null;
}
