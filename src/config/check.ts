/**
 * Problems with the settings, and the check of one part of them against its schema.
 */
import type { z } from 'zod';
import { type Fault, permanent } from '../core/fault.ts';
import { pathText } from './setting.ts';

export type Problem = Readonly<{ path: string; text: string }>;

/**
 * Lists every problem, one a line, each with its path.
 * @param origins the environment variable that set the value at a path
 */
export function configInvalid(problems: readonly Problem[], origins: ReadonlyMap<string, string>): Fault {
  const lines = problems.map(({ path, text }) => {
    const variable = originOf(path, origins);
    const from = variable ? ` (set by ${variable})` : '';
    return `  ${path}${path && ': '}${text}${from}`;
  });
  return permanent('config_invalid', `the configuration is wrong in ${lines.length} place(s):\n${lines.join('\n')}`);
}

/** Returns the variable that set the value at a path, what it is in, or else the first part of it. */
function originOf(path: string, origins: ReadonlyMap<string, string>): string | undefined {
  for (let at = path; at; at = at.slice(0, Math.max(at.lastIndexOf('.'), at.lastIndexOf('['), 0))) {
    const variable = origins.get(at);
    if (variable) return variable;
  }
  return [...origins].find(([below]) => path && below.startsWith(`${path}.`))?.[1];
}

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
      const text = 'there is no such setting';
      for (const key of issue.keys) problems.push({ path: pathText([...path, key]), text });
    } else problems.push({ path: pathText(path), text: issue.message });
  }
  return null;
}
