/**
 * How far behind each network was read in the last day.
 */

/** The worst lag of each of these steps is kept. */
export const LAG_STEP_MS = 300_000;
export const LAG_KEPT_MS = 86_400_000;

/** The worst lag, in seconds, of the step that begins at `atMs`. A step without a report is missing. */
export type NetworkLag = Readonly<{ atMs: number; lagS: number }>;
