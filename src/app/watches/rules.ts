/**
 * The table of everything that is watched, in `rules.json`: how long a trouble must last, and what an operator does
 * about it. The alarms page (docs/reference/alarms.md) says the same to people.
 */
import { readFileSync } from 'node:fs';
import type { AlarmScope } from '../../database/alarms.ts';
import type table from './rules.json';

export type WatchCode = keyof typeof table;

/**
 * `raise_after_s`: null stands for the setting `alarms.patience_s`. `advice` names the command to run; null where the
 * message does. The code of the alarm `network_halted` is that of the network's reason.
 */
type Rule = Readonly<{ scope: AlarmScope; raise_after_s: number | null; advice: string | null }>;

export const watchRules: Readonly<Record<WatchCode, Rule>> = JSON.parse(
  readFileSync(new URL('./rules.json', import.meta.url), 'utf8'),
);
