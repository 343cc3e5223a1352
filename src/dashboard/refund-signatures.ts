/**
 * Approvers' signatures of a refund that the signer pays only with one: who has signed, and how an approver does.
 */
import type { Payout } from '../core/payout.ts';
import type { Refund } from '../database/refunds.ts';
import { type Html, html } from '../lib/html.ts';
import { changeFields } from './change.ts';
import type { Visit } from './page.ts';
import { badge, short, table, time } from './show.ts';
import type { Words } from './texts.ts';

export const APPROVAL_BYTES_MAX = 8 * 1024;

/**
 * Shows who has signed a refund, and how an approver does. @param path of the page that it is on
 * @returns null if the refund neither needs a signature nor has one
 */
export function approvalSection(
  visit: Visit<unknown>,
  refund: Refund,
  payout: Payout | null,
  { path, mayDecide }: Readonly<{ path: string; mayDecide: boolean }>,
): Html | null {
  const { nowMs, words } = visit;
  const wait = payout?.state === 'waiting' ? payout.wait : null;
  const isWaiting = refund.status === 'processing' && wait?.code === 'signer_refused_approval';
  if (!isWaiting && refund.approvals.length === 0) return null;
  return html`<section class="card" aria-labelledby="signatures"><h2 id="signatures">${words.say('refund-approvals.title')}</h2>
${isWaiting ? html`<p>${words.say('refund-approvals.why')}</p>` : null}
${refund.approvals.length === 0 ? html`<p>${words.say('refund-approvals.none')}</p>` : signatures(words, refund, isWaiting, nowMs)}
${isWaiting && mayDecide ? steps(visit, refund, path) : null}</section>`;
}

function signatures(words: Words, { approvals }: Refund, isWaiting: boolean, nowMs: number): Html {
  const stateOf = (untilMs: number): Html | string => {
    if (!isWaiting) return '';
    if (untilMs < nowMs) return badge(words.say('refund-approvals.expired'), 'attention');
    return badge(words.say('refund-approvals.uncounted'), 'wait');
  };
  return table(
    words.say('refund-approvals.title'),
    [words.say('refund-approvals.approver'), words.say('refund-approvals.valid_until'), words.say('general.state')],
    approvals.map(({ approver, untilS }) => [short(approver), time(untilS * 1000), stateOf(untilS * 1000)]),
  );
}

/** The name of the file that approvers sign. */
export const requestFileOf = ({ id }: Pick<Refund, 'id'>): string => `${id}.json`;

function steps(visit: Visit<unknown>, refund: Refund, path: string): Html {
  const { words } = visit;
  const file = requestFileOf(refund);
  const link = html`<a href="${path}/request" download>${words.say('refund-approvals.request')}</a>`;
  const command = html`<code data-copy>quayside-signer approve ${file} --key anna.key &gt; anna.json</code>`;
  return html`<ol><li>${words.html('refund-approvals.step_download', { link })}</li>
<li>${words.html('refund-approvals.step_sign', { command })}</li>
<li>${words.say('refund-approvals.step_hand_in')}</li></ol>
<form method="post" action="${path}/approval" enctype="multipart/form-data">${changeFields(visit)}
<label>${words.say('refund-approvals.file')} <input type="file" name="approval" accept=".json,application/json"></label>
<label>${words.say('refund-approvals.paste')} <textarea name="pasted" rows="4" maxlength="${APPROVAL_BYTES_MAX}" dir="ltr" spellcheck="false" autocomplete="off"></textarea></label>
<button>${words.say('refund-approvals.hand_in')}…</button></form>`;
}
