/**
 * The check of a node, made again and again: finds what goes wrong only now and then.
 */
import type { Clock } from '../../src/lib/clock.ts';
import { countOf, type Finding, type Severity, worstOf } from './finding.ts';

/** A check begins this long after the one before it began, or at once if that one took longer. */
const ROUND_MS = 30_000;

/** A finding in its last wording, the number of checks that had it, and when it was seen last (Unix milliseconds). */
export type RepeatedFinding = Finding & Readonly<{ times: number; lastMs: number }>;

export type RepeatedCheck = Readonly<{
  rounds: number;
  elapsedMs: number;
  /** The worst first. An area in which something was wrong has no `ok` here. */
  findings: readonly RepeatedFinding[];
}>;

export type RepeatOptions = Readonly<{
  check(): Promise<readonly Finding[]>;
  /** No check begins later than this. The last one begins at this time. */
  forMs: number;
  clock: Clock;
  /** Ends the run after the check that is under way. */
  stop: AbortSignal;
  onRound(soFar: RepeatedCheck): void;
}>;

/** Checks at least once. @throws what `check` throws */
export async function repeatCheck({ check, forMs, clock, stop, onRound }: RepeatOptions): Promise<RepeatedCheck> {
  const startMs = clock.nowMs();
  const endMs = startMs + forMs;
  const seen = new Map<string, RepeatedFinding>();
  for (let rounds = 1; ; rounds++) {
    const begunMs = clock.nowMs();
    addFindings(seen, await check(), begunMs);
    const soFar = { rounds, elapsedMs: clock.nowMs() - startMs, findings: summaryOf([...seen.values()]) };
    onRound(soFar);
    const isLast = begunMs >= endMs || clock.nowMs() >= endMs;
    if (isLast || stop.aborted) return soFar;
    await clock.sleep(Math.max(0, Math.min(begunMs + ROUND_MS, endMs) - clock.nowMs()), stop);
    if (stop.aborted) return { ...soFar, elapsedMs: clock.nowMs() - startMs };
  }
}

/** Adds findings to those already seen. The order distinguishes findings of the same area and severity. */
function addFindings(seen: Map<string, RepeatedFinding>, found: readonly Finding[], atMs: number): void {
  const counts = new Map<string, number>();
  for (const finding of found) {
    const kind = `${finding.area} ${finding.severity}`;
    const count = counts.get(kind) ?? 0;
    counts.set(kind, count + 1);
    const key = `${kind} ${count}`;
    seen.set(key, { ...finding, times: (seen.get(key)?.times ?? 0) + 1, lastMs: atMs });
  }
}

function summaryOf(all: readonly RepeatedFinding[]): readonly RepeatedFinding[] {
  const bySeverity = (severity: Severity) => all.filter((one) => one.severity === severity);
  const isFine = ({ area }: Finding) => worstOf(all.filter((one) => one.area === area)) === 'ok';
  return [...bySeverity('error'), ...bySeverity('warning'), ...bySeverity('ok').filter(isFine)];
}

/** Returns one line for the terminal while the checks go on. */
export function progressText({ rounds, elapsedMs, findings }: RepeatedCheck, forMs: number): string {
  const minutes = (ms: number) => (ms / 60_000).toFixed(1);
  const [errors, warnings] = [countOf(findings, 'error'), countOf(findings, 'warning')];
  return `${minutes(elapsedMs)} of ${minutes(forMs)} min, ${rounds} checks, errors: ${errors}, warnings: ${warnings}`;
}
