/**
 * Sends a test message now. It is not kept.
 */

import { randomUUID } from 'node:crypto';
import type { Notices } from '../database/database.ts';
import type { NoticeTarget } from '../database/notices.ts';
import { type Clock, toSeconds } from '../lib/clock.ts';
import { type Delivered, deliver } from './channels.ts';
import type { Send } from './post.ts';

/** The service's answer, and after how long it came. */
type TestedNotice = Delivered & Readonly<{ ms: number }>;

type Parts = Readonly<{ notices: Notices; send: Send; clock: Clock }>;

const TEXT = { title: 'Quayside: a test', text: 'This is a test. Nothing is wrong.', severity: 'know' } as const;

/** Sends a test message to a target; a dead-man URL is called. @returns null if the target was removed */
export async function sendTestNotice(
  { notices, send, clock }: Parts,
  { id, kind }: Pick<NoticeTarget, 'id' | 'kind'>,
): Promise<TestedNotice | null> {
  const address = await notices.addressOf(id);
  if (address === null) return null;
  const startedAtMs = clock.nowMs();
  const stamp = { id: `test-${randomUUID()}`, atS: toSeconds(startedAtMs), nonce: randomUUID() };
  const answer = await deliver(send, kind, address, { ...TEXT, ...stamp });
  return { ...answer, ms: clock.nowMs() - startedAtMs };
}
