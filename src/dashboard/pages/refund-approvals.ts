/**
 * Approvers' signatures of a refund: the request as a file, and handing a signature in. For the store's owners from the
 * refund's page, and for operators from the payout's.
 */

import { amountText } from '../../acts/refund-words.ts';
import { Fault } from '../../core/fault.ts';
import type { Refund } from '../../database/refunds.ts';
import { type Html, html } from '../../lib/html.ts';
import { commonChange, type Planned, storeChange } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage, Reply, StorePage, Visit } from '../page.ts';
import { APPROVAL_BYTES_MAX, requestFileOf } from '../refund-signatures.ts';
import { refundsPath, whatIsPaid } from '../refund-text.ts';
import { english, faultMessage, time } from '../show.ts';
import type { Words } from '../texts.ts';
import { findRefund } from './refunds.ts';

/** In base64, beside the same as text and the other fields; what is larger is still read, to say so. */
const FORM_BYTES_MAX = 8 * APPROVAL_BYTES_MAX;
const payoutPath = (id: string): string => `/operator/payouts/${id}`;

/** Shows the page that the form is on again, with what is wrong. */
type Again = (fault: Html | string) => Reply;

export const refundApprovalPages = (deps: DashboardDeps): readonly StorePage[] => [
  {
    method: 'get',
    path: '/s/:store/:mode/refunds/:refund/request',
    needs: 'refunds:decide',
    async answer(visit) {
      const refund = await findRefund(deps, visit);
      return refund && requestFile(deps, visit, refund, `${refundsPath(visit.at)}/${refund.id}`);
    },
  },
  storeChange(deps, {
    path: '/s/:store/:mode/refunds/:refund/approval',
    needs: 'refunds:decide',
    formBytesMax: FORM_BYTES_MAX,
    async plan(visit) {
      const refund = await findRefund(deps, visit);
      return refund && planHandingIn(deps, visit, refund, `${refundsPath(visit.at)}/${refund.id}`);
    },
  }),
];

export const payoutApprovalPages = (deps: DashboardDeps): readonly CommonPage[] => [
  {
    method: 'get',
    path: `${payoutPath(':payout')}/request`,
    needs: 'installation:manage',
    async answer(visit) {
      const refund = await deps.database.refunds.findBy({ id: visit.params.payout ?? '' });
      return refund && requestFile(deps, visit, refund, payoutPath(refund.id));
    },
  },
  commonChange(deps, {
    path: `${payoutPath(':payout')}/approval`,
    needs: 'installation:manage',
    formBytesMax: FORM_BYTES_MAX,
    async plan(visit) {
      const refund = await deps.database.refunds.findBy({ id: visit.params.payout ?? '' });
      return refund && planHandingIn(deps, visit, refund, payoutPath(refund.id));
    },
  }),
];

/** Answers with the very bytes that `quayside refund request` prints. */
async function requestFile(
  deps: DashboardDeps,
  { words }: Visit<unknown>,
  refund: Refund,
  back: string,
): Promise<Reply> {
  try {
    const text = `${(await deps.approvals.request(refund)).join('\n')}\n`;
    async function* parts() {
      yield text;
    }
    return { file: requestFileOf(refund), type: 'application/json', parts: parts(), end() {} };
  } catch (error) {
    if (!(error instanceof Fault) || error.kind === 'transient') throw error;
    return againPage(words, refund, back)(words.say('refund-approvals.not_now'));
  }
}

const againPage =
  (words: Words, refund: Refund, back: string): Again =>
  (fault) => ({
    title: words.say('refunds.title', { amount: amountText(refund) }),
    status: 400,
    content: html`${faultMessage(fault)}<p><a href="${back}">${words.say('refund-approvals.back')}</a></p>`,
  });

/** What is handed in as text; null for nothing, or too much. */
function givenText({ approval = '', pasted = '' }: Readonly<Record<string, string>>): string | 'none' | 'too_long' {
  const text = approval === '' ? pasted.trim() : Buffer.from(approval, 'base64').toString('utf8');
  if (text === '') return 'none';
  return Buffer.byteLength(text) > APPROVAL_BYTES_MAX ? 'too_long' : text;
}

async function planHandingIn(
  deps: DashboardDeps,
  visit: Visit<unknown>,
  refund: Refund,
  back: string,
): Promise<Planned> {
  const { form, nowMs, words } = visit;
  const again = againPage(words, refund, back);
  const text = givenText(form);
  if (text === 'none') return again(words.html('refund-approvals.nothing'));
  if (text === 'too_long') return again(words.html('refund-approvals.too_long', { kib: APPROVAL_BYTES_MAX / 1024 }));
  let approval: Awaited<ReturnType<DashboardDeps['approvals']['read']>>;
  try {
    approval = await deps.approvals.read(refund, 'the file', text);
  } catch (error) {
    if (!(error instanceof Fault) || error.kind === 'transient') throw error;
    return again(refusalOf(words, error));
  }
  return {
    command: 'hand in approval of refund',
    target: refund.id,
    review: {
      title: words.say('refund-approvals.review', { amount: amountText(refund) }),
      consequence: html`${whatIsPaid(deps.config, words, refund)}<p>${words.html('refund-approvals.review_text', {
        approver: html`<code>${approval.approver}</code>`,
        time: time(approval.untilS * 1000),
      })}</p>`,
      button: words.say('refund-approvals.hand_in'),
      back,
      needsSudo: true,
    },
    async act(database) {
      const seen = refund.destination?.key ?? null;
      return (await database.refunds.approve(refund.id, approval, nowMs, seen)) === 'done'
        ? { to: back, said: words.say('refund-approvals.taken') }
        : again(words.say('refund-changes.changed'));
    },
  };
}

/** Says what to do about a signature that cannot be used. */
function refusalOf(words: Words, { code, message }: Fault): Html | string {
  switch (code) {
    case 'approval_file_invalid':
      return words.html('refund-approvals.bad_file', { why: english(message) });
    case 'approval_mismatch':
      return words.say('refund-approvals.mismatch');
    case 'approval_expired':
      return words.say('refund-approvals.expired_file');
    default:
      return words.say('refund-approvals.not_now');
  }
}
