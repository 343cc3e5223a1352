/**
 * Metrics of notices: who is informed about alarms, and whether that works.
 */

import type { Gauge } from 'prom-client';
import type { Database } from '../database/database.ts';
import type { NoticeTarget } from '../database/notices.ts';

type MakeGauge = <L extends string>(name: string, help: string, labelNames?: readonly L[]) => Gauge<L>;

const states = ['unproved', 'working', 'failing'] as const;

function stateOf({ provedAtMs, failingSinceMs }: NoticeTarget): (typeof states)[number] {
  if (provedAtMs === null) return 'unproved';
  return failingSinceMs === null ? 'working' : 'failing';
}

/** @param gauge makes a gauge of this installation's registry */
export function createNoticeMetrics(gauge: MakeGauge) {
  const targets = gauge('notice_targets', 'Targets of notices, by whether they are proved, and messages arrive.', [
    'state',
  ]);
  return {
    async read(database: Pick<Database, 'notices'>): Promise<void> {
      const all = await database.notices.listTargets();
      for (const state of states) targets.set({ state }, all.filter((target) => stateOf(target) === state).length);
    },
  };
}
