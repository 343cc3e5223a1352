/**
 * Findings of `quayside doctor` and `quayside network check`: one sentence about one part of an installation or a node,
 * and what to do about it.
 */

/**
 * `error`: payments, payouts or webhooks do not work, or data is in danger. `warning`: they will not work, unless
 * somebody acts.
 */
export type Severity = 'ok' | 'warning' | 'error';

/** `next` names the command or the setting. */
export type Finding = Readonly<{ area: string; severity: Severity; text: string; next?: string }>;

const finding =
  (severity: Severity) =>
  (area: string, text: string, next?: string | null): Finding => ({ area, severity, text, ...(next && { next }) });

export const ok = finding('ok');
export const warning = finding('warning');
export const failure = finding('error');

const severities: readonly Severity[] = ['ok', 'warning', 'error'];

/** Returns the worst severity of all. */
export const worstOf = (all: readonly Finding[]): Severity =>
  all.reduce<Severity>(
    (worst, { severity }) => (severities.indexOf(severity) > severities.indexOf(worst) ? severity : worst),
    'ok',
  );

/** 0 fine, 1 warnings, 2 errors. */
export const exitCodeOf = (all: readonly Finding[]): 0 | 1 | 2 => severities.indexOf(worstOf(all)) as 0 | 1 | 2;

export const countOf = (findings: readonly Finding[], severity: Severity): number =>
  findings.filter((one) => one.severity === severity).length;

const signs: Readonly<Record<Severity, string>> = { ok: '✓', warning: '!', error: '✗' };

/** Returns findings as people read them, with their number in the last line. */
export function findingLines(findings: readonly Finding[]): string[] {
  const [errors, warnings] = [countOf(findings, 'error'), countOf(findings, 'warning')];
  return [
    ...findings.flatMap(({ area, severity, text, next }) => [
      `${signs[severity]} ${area}: ${text}`,
      ...(next ? [`    → ${next}`] : []),
    ]),
    '',
    errors + warnings === 0 ? 'nothing is wrong' : `errors: ${errors}, warnings: ${warnings}`,
  ];
}
