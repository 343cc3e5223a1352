/**
 * What `quayside doctor` finds: one sentence about one part of an installation, and what to do about it.
 * @module
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
