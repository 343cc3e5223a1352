/**
 * The loop behind every watch. It looks, raises an alarm once a trouble has lasted long enough, updates it, and ends it
 * when the trouble is over. It continues the alarms of an earlier process.
 */

import { readFileSync } from 'node:fs';
import type { NetworkKey } from '../../core/transfer.ts';
import { alarmKey } from '../../database/alarms.ts';
import type { Alarms } from '../../database/database.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type table from './rules.json';

/**
 * Something that is wrong now. `subject` is the network, pool or coin that it is about; absent if there is only one.
 */
export type Finding = Readonly<{
  rule: WatchCode;
  subject?: string;
  network?: NetworkKey | null;
  /** The trouble, without a full stop, because the rule's advice follows. */
  message: string;
  /** The alarm's code, if it differs from the rule's. */
  code?: string;
}>;

export type Watch = Readonly<{
  /** Name of the watch for the log: `the disk`. */
  what: string;
  /** Its rules. A lasting alarm of one of their scopes belongs to this watch. */
  rules: readonly WatchCode[];
  /**
   * Returns everything that is wrong now.
   * @throws Fault transient, in which case nothing is decided
   */
  look(nowMs: number): Promise<readonly Finding[]>;
}>;

export type WatchdogOptions = Readonly<{
  alarms: Alarms;
  settings: Readonly<{ patienceMs: number; calmMs: number }>;
  clock: Pick<Clock, 'nowMs'>;
  log: Pick<Log, 'warn' | 'info'>;
}>;

/** Shortest time between two saves of a message in which only numbers changed. */
const RENEW_MS = 60_000;

type Saved = Readonly<{ code: string; message: string; atMs: number }>;
/**
 * A trouble, from the first look that saw it until it is over. `ruleSinceMs`: the time since which this rule applies.
 * `saved`: its alarm; null while it is too recent for one.
 */
type Trouble = Readonly<{
  rule: WatchCode;
  network: NetworkKey | null;
  sinceMs: number;
  ruleSinceMs: number;
  seenAtMs: number;
  saved: Saved | null;
}>;

/** @returns the function of one look. The caller repeats a look that fails with a transient fault */
export function createWatchdog(
  { what, rules, look }: Watch,
  { alarms, settings, clock, log }: WatchdogOptions,
): () => Promise<void> {
  const troubles = new Map<string, Trouble>();
  let isLoaded = false;

  async function load(nowMs: number): Promise<void> {
    for (const { key, code, message, atMs, network } of await alarms.listOpen()) {
      const rule = rules.find((name) => key !== null && isOf(watchRules[name].scope, key));
      if (key === null || rule === undefined) continue;
      const saved = { code, message, atMs };
      troubles.set(key, { rule, network, sinceMs: atMs, ruleSinceMs: atMs, seenAtMs: nowMs, saved });
    }
    isLoaded = true;
  }

  async function note(key: string, finding: Finding, nowMs: number): Promise<void> {
    const { rule, network = null } = finding;
    const before = troubles.get(key);
    // After the clock was set back, the trouble begins now.
    const sinceMs = Math.min(before?.sinceMs ?? nowMs, nowMs);
    const ruleSinceMs = before?.rule === rule ? before.ruleSinceMs : nowMs;
    let saved = before?.saved ?? null;
    const { raise_after_s: afterS } = watchRules[rule];
    const afterMs = afterS === null ? settings.patienceMs : afterS * 1000;
    if (saved || nowMs - sinceMs >= afterMs) {
      // An alarm keeps its code until another cause has lasted too, because a recovering network is briefly behind.
      const kept = nowMs - ruleSinceMs >= afterMs ? undefined : saved?.code;
      saved = await save(key, finding, kept ?? finding.code ?? rule, saved, nowMs);
    }
    troubles.set(key, { rule, network, sinceMs, ruleSinceMs, seenAtMs: nowMs, saved });
  }

  /** Updates the alarm. @returns its saved state */
  async function save(key: string, finding: Finding, code: string, saved: Saved | null, nowMs: number): Promise<Saved> {
    const { rule, network = null } = finding;
    const { advice } = watchRules[rule];
    const message = advice === null ? `${finding.message}.` : `${finding.message}. ${advice}.`;
    const isDue = saved?.code !== code || (saved.message !== message && nowMs - saved.atMs >= RENEW_MS);
    if (saved && !isDue) return saved;
    if (await alarms.keep({ key, atMs: nowMs, code, message, network, sessionId: null })) {
      log.warn({ code, network: network ?? undefined }, message);
    }
    return { code, message, atMs: nowMs };
  }

  /** Ends a trouble that is over for long enough. Shorter pauses count as part of it. */
  async function calm(key: string, before: Trouble, nowMs: number): Promise<void> {
    const { network, saved } = before;
    const seenAtMs = Math.min(before.seenAtMs, nowMs);
    troubles.set(key, { ...before, seenAtMs });
    if (nowMs - seenAtMs < settings.calmMs) return;
    troubles.delete(key);
    if (!saved) return;
    await alarms.end(key, nowMs);
    log.info({ code: saved.code, network: network ?? undefined }, `alarm ended: ${what}`);
  }

  return async () => {
    const nowMs = clock.nowMs();
    if (!isLoaded) await load(nowMs);
    const found = new Map<string, Finding>();
    for (const finding of await look(nowMs)) {
      const key = alarmKey(watchRules[finding.rule].scope, finding.subject ?? '');
      if (!found.has(key)) found.set(key, finding);
    }
    for (const [key, finding] of found) await note(key, finding, nowMs);
    for (const [key, one] of [...troubles]) if (!found.has(key)) await calm(key, one, nowMs);
  };
}

const isOf = (scope: string, key: string): boolean => key === scope || key.startsWith(`${scope}:`);

// ── The rules ───────────────────────────────────────────────────────────────────────────────────────────────────────

export type WatchCode = keyof typeof table;

/**
 * A rule. A null `raise_after_s` stands for the setting `alarms.patience_s`. `advice` names the command to run, and is
 * null if the message does. The alarm `network_halted` has the code of the network's reason.
 */
type Rule = Readonly<{ scope: string; raise_after_s: number | null; advice: string | null }>;

export const watchRules: Readonly<Record<WatchCode, Rule>> = JSON.parse(
  readFileSync(new URL('./rules.json', import.meta.url), 'utf8'),
);
