/**
 * Money out: a refund with its destination, approval, attempts and outcome; and payouts of other kinds.
 * @module
 */
import { attemptName, delayOf, type Payout } from '../../src/core/payout.ts';
import { isPassing } from '../../src/core/reasons.ts';
import { endOf } from '../../src/database/freezes.ts';
import type { Refund } from '../../src/database/refunds.ts';
import { TRACED_MAX } from '../../src/database/traces.ts';
import { type Link, link, type Mark } from './explain-link.ts';
import { at, type Scene } from './explain-scene.ts';
import { freezeText } from './payout-freeze.ts';
import { amountOf, kindText } from './payouts.ts';
import { amountText } from './refunds.ts';

const shortOfMoney: readonly string[] = ['token_short', 'native_short'];

/** Returns a link for each refund and return of a session, oldest first. */
export async function refundLinks(scene: Scene, sessionId: string): Promise<Link[]> {
  const refunds = await scene.database.listRefunds({ sessionId, limit: TRACED_MAX });
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
    const advice = `send the claim link of \`quayside refunds show ${id} --link\` to the payer, or name an address: \`quayside refunds destination ${id} --address ADDRESS --reason …\``;
    return link('payout', 'waiting', `it waits for the payer’s address${until}`, advice);
  }
  if (needsApproval && approvedAtMs === null) {
    const advice = `\`quayside refunds approve ${id}\`, or \`quayside refunds reject ${id} --reason …\``;
    return link('payout', 'waiting', 'it is above the store’s limit, and waits for your approval', advice);
  }
  return link('payout', 'waiting', 'it is ready, and starts within seconds while the server runs');
}

/** Returns what a payout waits for, its attempts, and its outcome. */
export async function payoutLinks(scene: Scene, payout: Payout): Promise<Link[]> {
  const attempts = await scene.database.listPayoutAttempts(payout.id);
  const shown = attempts.map((one) => {
    const { tx, sentAtMs, answer } = one;
    const sent = sentAtMs === null ? 'not sent' : `sent at ${at(sentAtMs)}`;
    const said = answer === null ? '' : `; the node said: ${answer}`;
    return link('attempt', 'ok', `${attemptName(one)}: ${tx ?? 'not signed'}, ${sent}${said}`);
  });
  return [...shown, await outcomeLink(scene, payout)];
}

async function outcomeLink(scene: Scene, payout: Payout): Promise<Link> {
  const { id, state, network, settledAtMs, tx, notBeforeMs } = payout;
  if (state === 'succeeded') {
    return link('outcome', 'ok', `final on the chain since ${at(settledAtMs ?? 0)}, transaction ${tx ?? '?'}`);
  }
  if (state === 'canceled') return link('outcome', 'ok', 'canceled, when nothing that was signed for it could pay');
  const delay = delayOf(payout);
  const why = delay ? `${delay.message} (${delay.code})` : null;
  if (state === 'failed') return link('outcome', 'broken', `it failed: ${why ?? 'no reason is known'}`);
  const freeze = await scene.database.findFreeze(network);
  if (freeze) {
    const advice = `find out why; then ${endOf(freeze)}`;
    return link('outcome', 'broken', `money out is frozen: ${freezeText(freeze)}`, advice);
  }
  if (!scene.config.signer) {
    return link(
      'outcome',
      'broken',
      'nothing can be signed: the configuration has no `signer`',
      'set one up: docs/money.md',
    );
  }
  if (state === 'stuck') {
    const advice = `look at it with \`quayside payouts show ${id}\`; then end it with \`quayside payouts resolve ${id}\``;
    return link('outcome', 'broken', `it is stuck: ${why ?? 'an operator has to decide'}`, advice);
  }
  const engine = (await scene.database.listEngines()).find((one) => one.network === network);
  if (engine?.reason) {
    const { code, message } = engine.reason;
    return link('outcome', markOf(code), `payouts on ${network} are stopped: ${message} (${code})`);
  }
  if (delay && why) return link('outcome', markOf(delay.code), `it waits: ${why}`, adviceFor(delay.code, payout));
  if (notBeforeMs > scene.nowMs) {
    return link('outcome', 'waiting', `it is signed after ${at(notBeforeMs)}, when it can no longer be canceled`);
  }
  return link('outcome', 'waiting', state === 'sent' ? 'it waits for a block and for finality' : 'it is signed next');
}

const markOf = (code: string): Mark => (isPassing(code) ? 'waiting' : 'broken');

const adviceFor = (code: string, { id }: Payout): string =>
  shortOfMoney.includes(code)
    ? 'send what is missing to the wallet; `quayside status` shows what it holds, `quayside-signer show` its address'
    : `\`quayside payouts show ${id}\` shows everything about it`;

const whats = {
  refund: 'pays back',
  return: 'pays back',
  sweep: 'sweeps',
  transfer: 'gives gas,',
  delegate: 'lends the energy of a stake of',
  reclaim: 'takes back the energy of a stake of',
  move: 'moves to the wallet that pays now',
} as const;

/** Returns a payout that is not followed from a session, with what it is for. */
export async function payoutLink(scene: Scene, payout: Payout): Promise<Link> {
  const { id, intent, network, state } = payout;
  const what = whats[intent.kind === 'gas' ? intent.form : intent.kind];
  const text = `${kindText(intent)} ${id} ${what} ${amountOf(payout, scene.config)} on ${network}, ${state}`;
  return link('payout', 'ok', text, null, await payoutLinks(scene, payout));
}
