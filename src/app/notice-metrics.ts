/**
 * Metrics of notices: who is informed about alarms, and whether that works.
 * @module
 */
import type { Gauge } from 'prom-client';
import type { NoticeDatabase, NoticeTarget } from '../database/notices.ts';

type MakeGauge = <L extends string>(name: string, help: string, labelNames?: readonly L[]) => Gauge<L>;

const states = ['unproved', 'working', 'failing', 'paused'] as const;

function stateOf({ provedAtMs, failingSinceMs, pausedAtMs }: NoticeTarget): (typeof states)[number] {
  if (provedAtMs === null) return 'unproved';
  if (pausedAtMs !== null) return 'paused';
  return failingSinceMs === null ? 'working' : 'failing';
}

/** @param gauge makes a gauge of this installation's registry */
export function createNoticeMetrics(gauge: MakeGauge) {
  const targets = gauge(
    'notice_targets',
    'Targets of notices, by whether they are proved, paused, and messages arrive.',
    ['state'],
  );
  const waiting = gauge('notices_waiting', 'Notices that are still to be sent, repeats included.');
  return {
    async read(database: Pick<NoticeDatabase, 'listNoticeTargets'>): Promise<void> {
      const all = await database.listNoticeTargets();
      for (const state of states) targets.set({ state }, all.filter((target) => stateOf(target) === state).length);
      waiting.set(all.reduce((sum, target) => sum + target.waiting, 0));
    },
  };
}
