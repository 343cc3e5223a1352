/**
 * Intents as JSON text, with units as decimal strings.
 * @module
 */
import type { Intent } from '../../../core/intent.ts';

/** Writes equal intents as the same text, whatever the order of their fields. */
export const writeIntent = (intent: Intent): string => JSON.stringify(intent, plain);

export const readIntent = (text: string): Intent =>
  JSON.parse(text, (key, value: unknown) => (key === 'units' ? BigInt(String(value)) : value)) as Intent;

function plain(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
