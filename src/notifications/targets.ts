/** Adding a target of notices: its address as a person typed it, and the code that proves that messages arrive. */
import { randomInt, randomUUID } from 'node:crypto';
import * as z from 'zod';
import type { NewNoticeTarget, TargetField, TargetText } from '../database/alarms.ts';
import type { ChannelKind } from '../database/column-values.ts';
import { type Clock, toSeconds } from '../lib/clock.ts';
import { newWebhookSecret, sortableId } from '../lib/id.ts';
import { addressShapes, type Delivered, deliver, NO_MAIL, type Ways } from './channels.ts';

const CODES = 1_000_000;
const CODE_DIGITS = 6;

/** The address to save, or the wrong field with its problem. No problem contains a secret. */
type ReadAddress = Readonly<{ address: string }> | Readonly<{ field: TargetField; problem: string }>;

/** Returns the address of a target of this kind. A webhook's secret is made here. */
function readTargetAddress(kind: ChannelKind, typed: TargetText): ReadAddress {
  const given = { ...typed, ...(kind === 'webhook' && { secret: newWebhookSecret() }) };
  const read = addressShapes[kind].safeParse(given);
  if (read.success) return { address: JSON.stringify(read.data) };
  // Zod's texts do not contain the value.
  const problem = z.prettifyError(read.error).replaceAll('\n', ' ');
  return { field: read.error.issues[0]?.path[0] as TargetField, problem };
}

/** Returns the function with which the dashboard adds a target. */
export const createTargetMaker = ({ ways, clock }: Readonly<{ ways: Ways; clock: Clock }>) => ({
  read: (kind: ChannelKind, typed: TargetText): ReadAddress =>
    kind === 'email' && ways.mail === null ? { field: 'to', problem: NO_MAIL } : readTargetAddress(kind, typed),
  /** Makes a target and sends it its code. @returns the target and the service's answer */
  async send(
    wish: Omit<NewNoticeTarget, 'id' | 'code' | 'createdAtMs'>,
  ): Promise<Readonly<{ target: NewNoticeTarget; answer: Delivered }>> {
    const createdAtMs = clock.nowMs();
    const code = String(randomInt(CODES)).padStart(CODE_DIGITS, '0');
    const target = { ...wish, id: `nt_${sortableId(createdAtMs)}`, code, createdAtMs };
    const answer = await deliver(ways, target.kind, target.address, {
      id: `code-${target.id}`,
      title: 'Quayside: prove this target',
      text: `Your code is ${code}.\n\nType it in the dashboard, at Alarms.`,
      severity: 'know',
      atS: toSeconds(createdAtMs),
      nonce: randomUUID(),
    });
    return { target, answer };
  },
});
