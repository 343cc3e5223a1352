/**
 * What every benchmark prints and returns: rows of figures, and a progress bar.
 * @module
 */
import { openProgress } from '../cli/progress.ts';

/** What was measured, by column. */
export type Row = Readonly<Record<string, number | string>>;

/** Prints rows as a table; all have the columns of the first. */
export function show(title: string, rows: readonly Row[]): void {
  const columns = Object.keys(rows[0] ?? {});
  const widths = columns.map((name) => Math.max(name.length, ...rows.map((row) => String(row[name]).length)));
  const line = (cells: readonly unknown[]) =>
    `  ${cells.map((cell, at) => String(cell).padStart(widths[at] ?? 0)).join('  ')}\n`;
  process.stdout.write(
    `\n${title}\n${line(columns)}${rows.map((row) => line(columns.map((name) => row[name]))).join('')}`,
  );
}

/** Rounds to `places` decimals. */
export const round = (value: number, places = 2): number => Number(value.toFixed(places));

/** Returns the value that `share` of all values do not exceed; 0 without values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

/** How far a 99th percentile may be above that of an idle installation: a factor or so much, whichever is more. */
const P99_FACTOR_MAX = 1.5;
const P99_ABOVE_IDLE_MS_MAX = 20;

/** Says whether a 99th percentile stays as near to that of an idle installation as it should. */
export function judgeP99(idleMs: number, besideMs: number): string {
  const limitMs = Math.max(P99_FACTOR_MAX * idleMs, idleMs + P99_ABOVE_IDLE_MS_MAX);
  return `${besideMs <= limitMs ? 'met' : 'missed'} (at most ${round(limitMs, 1)} ms)`;
}

/** Opens a progress bar on standard error. */
export const progress = (title: string, total: number) => openProgress(`  ${title}`, total, process.stderr);
