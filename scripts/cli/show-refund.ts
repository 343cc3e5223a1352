/**
 * A refund or a return of held money: its facts, its destination, its approval and its payout.
 */

import { amountText } from '../../src/acts/refund-words.ts';
import { refundJson, whatNext } from '../../src/acts/refunds.ts';
import { permanent } from '../../src/core/fault.ts';
import type { Refund } from '../../src/database/refunds/refund.ts';
import { TRACED_MAX } from '../../src/database/traces.ts';
import { claimUrl } from '../../src/payments/destination.ts';
import { type Input, moment, operatorAct } from './command.ts';
import { type Link, link, type Shown } from './show-link.ts';
import { payoutFacts, payoutLinks } from './show-payout.ts';
import { at, type Scene } from './show-scene.ts';
import { table } from './table.ts';

/** Shows a refund with its payout; with `--link` also the payer's claim link. */
export async function refundShown(scene: Scene, input: Input, id: string): Promise<Shown | null> {
  const refund = await scene.database.refunds.findBy({ id });
  if (!refund) return null;
  const claim = input.options.link === true ? await seenLink(scene, input, refund) : null;
  const payout = await scene.database.findPayout(id);
  const paying = payout && (await payoutFacts(scene, payout));
  return {
    kind: refund.heldKind ? 'return' : 'refund',
    json: { ...refundJson(refund), ...(claim !== null && { claim_url: claim }), payout: paying?.json ?? null },
    lines: [
      ...table([...describe(refund), ...(claim === null ? [] : [['claim link', claim]])]),
      ...(paying?.lines ?? []),
    ],
    links: [await refundLink(scene, refund)],
  };
}

/** Returns a link for each refund and return of a session, oldest first. */
export async function refundLinks(scene: Scene, sessionId: string): Promise<Link[]> {
  const refunds = await scene.database.refunds.list({ sessionId, limit: TRACED_MAX });
  return Promise.all([...refunds].reverse().map((refund) => refundLink(scene, refund)));
}

async function refundLink(scene: Scene, refund: Refund): Promise<Link> {
  const { id, heldKind, status, network, processedAtMs } = refund;
  const name = heldKind ? `return ${id} of ${heldKind} money` : `refund ${id}`;
  const text = `${name}: ${amountText(refund)} on ${network}, ${status}`;
  if (status === 'completed') {
    const paid = `paid to ${refund.destination?.address ?? '?'} at ${at(processedAtMs ?? 0)}, transaction ${refund.tx ?? '?'}`;
    return link('refund', 'ok', text, null, [link('outcome', 'ok', paid)]);
  }
  if (status === 'canceled') return link('refund', 'ok', text);
  if (status === 'failed') {
    const why = refund.failureReason ?? 'no reason is known';
    const advice = 'its amount is free again: the merchant can make another refund';
    return link('refund', 'ok', text, null, [link('outcome', 'broken', `it failed: ${why}`, advice)]);
  }
  if (status === 'pending') return link('refund', 'ok', text, null, [pendingLink(refund)]);
  const payout = await scene.database.findPayout(id);
  const own = payout ? await payoutLinks(scene, payout) : [link('payout', 'waiting', 'its payout is not planned yet')];
  return link('refund', 'ok', text, null, own);
}

function pendingLink({ id, destination, claim, needsApproval, approvedAtMs }: Refund): Link {
  if (!destination) {
    const until = claim ? ` until ${at(claim.untilS * 1000)}, then it fails` : '';
    const advice = `send the claim link of \`quayside show ${id} --link\` to the payer, or name an address: \`quayside refund destination ${id} --address ADDRESS --reason …\``;
    return link('payout', 'waiting', `it waits for the payer’s address${until}`, advice);
  }
  if (needsApproval && approvedAtMs === null) {
    const advice = `\`quayside refund approve ${id}\`, or \`quayside refund reject ${id} --reason …\``;
    return link('payout', 'waiting', 'it is above the store’s limit, and waits for your approval', advice);
  }
  return link('payout', 'waiting', 'it is ready, and starts within seconds while the server runs');
}

/** Says through what an address came, and that staff may have named it. */
const sourceText = ({ destination }: Refund): string =>
  `${destination?.from.replace('_', ' ')}${destination?.isLinkSeen ? ', through a link that staff had seen' : ''}`;

/**
 * Returns the payer's claim link and records that the operator has seen it. The link's holder can name the destination.
 * @throws Fault permanent `refused`
 */
async function seenLink(
  { database, config, clock }: Scene,
  input: Input,
  { id, claim, status, destination }: Refund,
): Promise<string> {
  if (!claim || status !== 'pending' || destination) {
    throw permanent('refused', `refund ${id} waits for no address, so it has no link`);
  }
  await database.refunds.recordLinkSeen(id, operatorAct({ name: 'show' }, input, clock));
  return claimUrl(claim.token, config);
}

function describe(refund: Refund): string[][] {
  const address = refund.destination?.address ?? null;
  return [
    [
      'refund',
      `${refund.id} (${refund.heldKind ? `returns ${refund.heldKind} money` : `merchant’s id ${refund.refundId}`})`,
    ],
    ['session', `${refund.sessionId} (order ${refund.orderId})`],
    ['store', `${refund.storeId} (${refund.mode})`],
    ['amount', `${amountText(refund)} on ${refund.network}`],
    ['status', `${refund.status}${whatNext(refund) && `: ${whatNext(refund)}`}`],
    ['to', address === null ? '-' : `${address} (from the ${sourceText(refund)})`],
    ['created', moment(refund.createdAtMs)],
    ...(refund.tx === null ? [] : [['transaction', refund.tx]]),
    ...(refund.receiptNumber === null ? [] : [['receipt', refund.receiptNumber]]),
    ...(refund.processedAtMs === null ? [] : [['ended', moment(refund.processedAtMs)]]),
  ];
}
