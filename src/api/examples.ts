/**
 * The examples of the reference, from `examples.json`. A test checks each one against its schema.
 */
import { readFileSync } from 'node:fs';
import type all from './examples.json';

export const examples: typeof all = JSON.parse(readFileSync(new URL('./examples.json', import.meta.url), 'utf8'));
