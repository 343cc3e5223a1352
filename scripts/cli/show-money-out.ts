/** Money that goes out, or waits for a decision: refunds and returns, payouts with their attempts, held money. */
import { heldAmount } from '../../src/acts/held.ts';
import { amountText } from '../../src/acts/refund-words.ts';
import { refundJson, whatNext } from '../../src/acts/refunds.ts';
import { formatUnits, MINOR_DECIMALS } from '../../src/core/money.ts';
import { type Attempt, attemptName, delayOf, type Payout } from '../../src/core/payout.ts';
import { isPassing } from '../../src/core/reasons.ts';
import { endOf } from '../../src/database/payouts/holds.ts';
import type { Refund } from '../../src/database/refunds/refund.ts';
import { TRACED_MAX } from '../../src/database/traces.ts';
import { momentOrNull } from './command.ts';
import { heldAdvice, heldJson, heldState, meanings } from './held.ts';
import { freezeText } from './payout-freeze.ts';
import { amountOf, kindText, shownPayout } from './payouts.ts';
import { findSession, paymentTable } from './session.ts';
import { type Link, link, type Mark, type Shown } from './show-link.ts';
import { at, type Scene } from './show-scene.ts';
import { listLines } from './table.ts';

/** Shows a refund with its payout. */
export async function refundShown(scene: Scene, id: string): Promise<Shown | null> {
  const refund = await scene.database.refunds.findBy({ id });
  if (!refund) return null;
  const payout = await scene.database.payouts.find(id);
  const paying = payout && (await payoutFacts(scene, payout));
  return {
    kind: refund.heldKind ? 'return' : 'refund',
    json: { ...refundJson(refund), payout: paying?.json ?? null },
    lines: paying?.lines ?? [],
    links: [await refundLink(scene, refund)],
  };
}

/** Returns a link for each refund and return of a session, oldest first. */
export async function refundLinks(scene: Scene, sessionId: string): Promise<Link[]> {
  const refunds = await scene.database.refunds.list({ sessionId, limit: TRACED_MAX });
  return Promise.all([...refunds].reverse().map((refund) => refundLink(scene, refund)));
}

async function refundLink(scene: Scene, refund: Refund): Promise<Link> {
  const { id, heldKind, status, network, processedAtMs, refundId, sessionId, orderId, destination } = refund;
  const step = heldKind ? 'return' : 'refund';
  const name = `${id} (${heldKind ? `${heldKind} money` : `merchant’s id ${refundId}`})`;
  const seen = destination?.isLinkSeen ? ', through a link that staff had seen' : '';
  const to = destination ? ` to ${destination.address} (from the ${destination.from.replace('_', ' ')}${seen})` : '';
  const text = `${name} of ${sessionId}, order ${orderId}: ${amountText(refund)} on ${network}${to}, ${status}`;
  switch (status) {
    case 'completed': {
      const paid = `paid to ${refund.destination?.address ?? '?'} at ${at(processedAtMs ?? 0)}, transaction ${refund.tx ?? '?'}`;
      return link(step, 'ok', text, null, [link('outcome', 'ok', paid)]);
    }
    case 'canceled':
      return link(step, 'ok', text);
    case 'failed': {
      const advice = 'its amount is free again: the merchant can make another refund';
      return link(step, 'ok', text, null, [link('outcome', 'broken', `it failed: ${whatNext(refund)}`, advice)]);
    }
    case 'pending':
      return link(step, 'ok', text, null, [pendingLink(refund)]);
    default: {
      const payout = await scene.database.payouts.find(id);
      const own = payout
        ? await payoutLinks(scene, payout)
        : [link('payout', 'waiting', 'its payout is not planned yet')];
      return link(step, 'ok', text, null, own);
    }
  }
}

function pendingLink(refund: Refund): Link {
  const { id, destination, claim } = refund;
  const waits = whatNext(refund);
  if (!waits) return link('payout', 'waiting', 'it is ready, and starts within seconds while the server runs');
  const until = claim && !destination ? ` until ${at(claim.untilS * 1000)}, then it fails` : '';
  const advice = destination
    ? `\`quayside refund approve ${id}\`, or \`quayside refund reject ${id} --reason …\``
    : `the dashboard has the payer’s link; or name an address: \`quayside refund destination ${id} --address ADDRESS --reason …\``;
  return link('payout', 'waiting', `${waits}${until}`, advice);
}

/** Shows a payout that is no refund. */
export async function payoutShown(scene: Scene, id: string): Promise<Shown | null> {
  const payout = await scene.database.payouts.find(id);
  if (!payout) return null;
  return {
    kind: payout.intent.kind,
    ...(await payoutFacts(scene, payout)),
    links: [await payoutLink(scene, payout)],
  };
}

/** Returns a payout and its attempts for people and programs. */
async function payoutFacts({ database, config }: Scene, payout: Payout): Promise<Pick<Shown, 'json' | 'lines'>> {
  const attempts = (await database.payouts.attempts(payout.id)).map(attemptJson);
  return { json: { ...shownPayout(payout, config), attempts }, lines: listLines(attempts, attemptShown) };
}

const attemptJson = (one: Attempt) => ({
  attempt: attemptName(one),
  payer: one.payer,
  nonce: one.nonce,
  transaction_hash: one.tx,
  signed_at: momentOrNull(one.signedAtMs),
  sent_at: momentOrNull(one.sentAtMs),
  node_said: one.answer,
});
const attemptShown = ['attempt', 'nonce', 'transaction_hash', 'signed_at', 'sent_at', 'node_said'] as const;

/** Returns a payout, with what it waits for, its attempts, and its outcome. */
export async function payoutLink(scene: Scene, payout: Payout): Promise<Link> {
  const { id, intent, network, state } = payout;
  const text = `${kindText(intent)} ${id} of ${amountOf(payout, scene.config)} on ${network}, ${state}`;
  return link('payout', 'ok', text, null, await payoutLinks(scene, payout));
}

async function payoutLinks(scene: Scene, payout: Payout): Promise<Link[]> {
  const attempts = await scene.database.payouts.attempts(payout.id);
  const shown = attempts.map((one) => {
    const sent = one.sentAtMs === null ? 'not sent' : `sent at ${at(one.sentAtMs)}`;
    const said = one.answer === null ? '' : `; the node said: ${one.answer}`;
    return link('attempt', 'ok', `${attemptName(one)}: ${one.tx ?? 'not signed'}, ${sent}${said}`);
  });
  return [...shown, await outcomeLink(scene, payout)];
}

async function outcomeLink(scene: Scene, payout: Payout): Promise<Link> {
  const { state, network, settledAtMs, tx, notBeforeMs } = payout;
  const outcome = (mark: Mark, text: string, next?: string) => link('outcome', mark, text, next);
  const delay = delayOf(payout);
  const why = delay ? `${delay.message} (${delay.code})` : 'no reason is known';
  if (state === 'succeeded') return outcome('ok', `final since ${at(settledAtMs ?? 0)}, transaction ${tx ?? '?'}`);
  if (state === 'canceled') return outcome('ok', 'canceled, when nothing that was signed for it could pay');
  if (state === 'failed') return outcome('broken', `it failed: ${why}`);
  const freeze = await scene.database.holds.find(network);
  if (freeze)
    return outcome('broken', `money out is frozen: ${freezeText(freeze)}`, `find out why; then ${endOf(freeze)}`);
  if (!scene.config.signer)
    return outcome('broken', 'nothing can be signed: the configuration has no `signer`', 'set one up: docs/money.md');
  if (state === 'stuck')
    return outcome('broken', `it is stuck: ${why}`, `\`quayside payout resolve ${payout.id}\` ends it`);
  const engine = (await scene.database.engines.list()).find((one) => one.network === network);
  const markOf = (code: string): Mark => (isPassing(code) ? 'waiting' : 'broken');
  if (engine?.reason) {
    const { code, message } = engine.reason;
    return outcome(markOf(code), `payouts on ${network} are stopped: ${message} (${code})`);
  }
  if (delay) return outcome(markOf(delay.code), `it waits: ${why}`, '`quayside status` shows what the wallets hold');
  if (notBeforeMs > scene.nowMs)
    return outcome('waiting', `it is signed after ${at(notBeforeMs)}, when it can no longer be canceled`);
  return outcome('waiting', state === 'sent' ? 'it waits for a block and for finality' : 'it is signed next');
}

/** Shows held money with its session and its transfers. */
export async function heldShown({ database }: Scene, id: string): Promise<Shown | null> {
  const held = await database.held.find(id);
  if (!held) return null;
  const session = await findSession(database.sessions, held.sessionId);
  const returns = held.returns.map(({ id: returnId, status, amountMinor, currency, network, tx }) => {
    const amount = formatUnits(amountMinor, MINOR_DECIMALS, MINOR_DECIMALS);
    return { id: returnId, status, amount, currency, network, transaction_hash: tx };
  });
  return {
    kind: 'held',
    json: { ...heldJson(held), held_kind: held.kind, returns },
    lines: paymentTable(session),
    links: [
      link(
        'held',
        held.state === 'open' ? 'waiting' : 'ok',
        `${held.id} of ${held.sessionId}, order ${held.orderId}: ${heldAmount(held)} (${held.kind}: ${meanings[held.kind]}), ${heldState(held)}`,
        held.state === 'open' ? heldAdvice(id) : null,
        returns.map((one) =>
          link('return', 'ok', `${one.id}: ${one.amount} ${one.currency} on ${one.network}, ${one.status}`),
        ),
      ),
    ],
  };
}
