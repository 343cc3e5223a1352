/**
 * Test messages, one of each severity, sent now and not kept.
 * @module
 */
import { randomUUID } from 'node:crypto';
import { noticeText, type Severity, severities } from '../core/notice.ts';
import type { NoticeDatabase, NoticeTarget } from '../database/notices.ts';
import { type Clock, toSeconds } from '../lib/clock.ts';
import { type Delivered, deliver } from './channels.ts';
import type { Send } from './post.ts';

/** What the service answered to the message of one severity, and after how long. */
export type TestedNotice = Delivered & Readonly<{ severity: Severity; ms: number }>;

type Parts = Readonly<{ database: Pick<NoticeDatabase, 'noticeAddress'>; send: Send; clock: Clock }>;

/** Sends them to a target, a dead-man URL is called once. @returns null if the target was removed */
export async function sendTestNotices(
  { database, send, clock }: Parts,
  { id, kind }: Pick<NoticeTarget, 'id' | 'kind'>,
): Promise<readonly TestedNotice[] | null> {
  const address = await database.noticeAddress(id);
  if (address === null) return null;
  const answers: TestedNotice[] = [];
  for (const severity of kind === 'dead-man' ? (['know'] as const) : severities) {
    const startedAtMs = clock.nowMs();
    const told = { alarmId: 0, code: 'test', message: 'This is a test.', network: null, times: 0 } as const;
    const text = noticeText([{ ...told, change: 'opened', severity }], true, 'Quayside test');
    const stamp = { id: `test-${randomUUID()}`, atS: toSeconds(startedAtMs), nonce: randomUUID() };
    const answer = await deliver(send, kind, address, { ...text, ...stamp });
    answers.push({ ...answer, severity, ms: clock.nowMs() - startedAtMs });
  }
  return answers;
}
