/**
 * How long something can be put off.
 * @module
 */
import { tomorrowMs } from './zone.ts';

/** `tomorrow`: until 08:00 in the person's zone. */
export const snoozes = ['1h', '4h', 'tomorrow'] as const;
export type Snooze = (typeof snoozes)[number];

const HOUR_MS = 3_600_000;

/** Returns until when that is. */
export const snoozeEndMs = (snooze: Snooze, zone: string, nowMs: number): number =>
  snooze === 'tomorrow' ? tomorrowMs(zone, nowMs) : nowMs + Number.parseInt(snooze, 10) * HOUR_MS;
