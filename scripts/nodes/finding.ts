/**
 * Findings of `quayside doctor`, `quayside show` and `quayside network check`: one sentence about one part of an
 * installation, a payment or a node, and what to do about it.
 */

/**
 * `error`: payments, payouts or webhooks do not work, or data is in danger. `warning`: they will not work, unless
 * somebody acts. `waiting`: it goes on with time, or with what its text names. `note`: it helps to look further.
 */
export type Severity = 'ok' | 'note' | 'waiting' | 'warning' | 'error';

/** `next` names the command or the setting. */
export type Finding = Readonly<{ area: string; severity: Severity; text: string; next?: string }>;

export const finding = (severity: Severity, area: string, text: string, next?: string | null): Finding => ({
  area,
  severity,
  text,
  ...(next && { next }),
});

const findingOf =
  (severity: Severity) =>
  (area: string, text: string, next?: string | null): Finding =>
    finding(severity, area, text, next);

export const ok = findingOf('ok');
export const note = findingOf('note');
export const waiting = findingOf('waiting');
export const warning = findingOf('warning');
export const failure = findingOf('error');

const severities: readonly Severity[] = ['ok', 'note', 'waiting', 'warning', 'error'];

/** Returns the worst severity of all. */
export const worstOf = (all: readonly Finding[]): Severity =>
  all.reduce<Severity>(
    (worst, { severity }) => (severities.indexOf(severity) > severities.indexOf(worst) ? severity : worst),
    'ok',
  );

/** 0 fine, 1 warnings, 2 errors. */
export const exitCodeOf = (all: readonly Finding[]): 0 | 1 | 2 =>
  countOf(all, 'error') > 0 ? 2 : countOf(all, 'warning') > 0 ? 1 : 0;

export const countOf = (findings: readonly Finding[], severity: Severity): number =>
  findings.filter((one) => one.severity === severity).length;

const signs: Readonly<Record<Severity, string>> = { ok: '✓', note: '·', waiting: '…', warning: '!', error: '✗' };

/** Returns a finding as people read it. */
export const linesOf = ({ area, severity, text, next }: Finding): string[] => [
  `${signs[severity]} ${area}: ${text}`,
  ...(next ? [`    → ${next}`] : []),
];

/** Returns findings as people read them, with their number in the last line. */
export function findingLines(findings: readonly Finding[]): string[] {
  const [errors, warnings] = [countOf(findings, 'error'), countOf(findings, 'warning')];
  return [
    ...findings.flatMap(linesOf),
    ...(findings.length > 0 ? [''] : []),
    errors + warnings === 0 ? 'nothing is wrong' : `errors: ${errors}, warnings: ${warnings}`,
  ];
}
