/**
 * Parsed JSON objects whose fields are not validated yet.
 */
import { ExactNumber } from './exact-json.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** Returns whether a value is an object with fields, and not a list, a number or null. */
export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
