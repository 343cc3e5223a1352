/** Money that goes out: refunds and returns, payouts with their attempts. */
import { amountText } from '../../src/acts/refund-words.ts';
import { refundJson, whatNext } from '../../src/acts/refunds.ts';
import { type Attempt, attemptName, delayOf, type Payout } from '../../src/core/payout.ts';
import { isPassing } from '../../src/core/reasons.ts';
import { mapInOrder } from '../../src/database/engine/bodies.ts';
import { endOf } from '../../src/database/payouts/holds.ts';
import type { Refund } from '../../src/database/refunds/refund.ts';
import { TRACED_MAX } from '../../src/database/transfers.ts';
import { type Finding, failure, finding, note, ok, waiting } from '../nodes/finding.ts';
import { momentOrNull } from './command.ts';
import { freezeText } from './payout-freeze.ts';
import { amountOf, shownPayout } from './payouts.ts';
import { at, type Finder, type Scene } from './show-scene.ts';

/** Finds a refund or a return of held money, with its payout. */
export const findRefund: Finder = async (scene, id) => {
  const refund = await scene.database.refunds.findBy({ id });
  if (!refund) return [];
  const paying = await scene.database.payouts.find(id);
  const payout = paying && (await payoutJson(scene, paying));
  return [
    {
      kind: refund.heldKind ? 'return' : 'refund',
      json: { ...refundJson(refund), payout },
      findings: await refundFindings(scene, refund),
    },
  ];
};

/** Returns what became of each refund and return of a session, oldest first. */
export async function refundsOf(scene: Scene, sessionId: string): Promise<Finding[]> {
  const refunds = await scene.database.refunds.list({ sessionId, limit: TRACED_MAX });
  return (await mapInOrder([...refunds].reverse(), (refund) => refundFindings(scene, refund))).flat();
}

async function refundFindings(scene: Scene, refund: Refund): Promise<Finding[]> {
  const { id, heldKind, status, network, refundId, sessionId, orderId, destination } = refund;
  const name = `${id} (${heldKind ? `${heldKind} money` : `merchant’s id ${refundId}`})`;
  const to = destination ? ` to ${destination.address} (from the ${destination.from.replace('_', ' ')})` : '';
  const text = `${name} of ${sessionId}, order ${orderId}: ${amountText(refund)} on ${network}${to}, ${status}`;
  return [ok(heldKind ? 'return' : 'refund', text), ...(await progressOf(scene, refund))];
}

async function progressOf(scene: Scene, refund: Refund): Promise<Finding[]> {
  const { id, status, processedAtMs, tx } = refund;
  switch (status) {
    case 'completed':
      return [ok('outcome', `paid at ${at(processedAtMs ?? 0)}, transaction ${tx ?? '?'}`)];
    case 'canceled':
      return [];
    case 'failed': {
      const advice = 'its amount is free again: the merchant can make another refund';
      return [failure('outcome', `it failed: ${whatNext(refund)}`, advice)];
    }
    case 'pending':
      return [pendingFinding(refund)];
    case 'processing': {
      const payout = await scene.database.payouts.find(id);
      return payout ? attemptFindings(scene, payout) : [waiting('payout', 'its payout is not planned yet')];
    }
  }
}

function pendingFinding(refund: Refund): Finding {
  const { id, destination, claim } = refund;
  const waits = whatNext(refund);
  if (!waits) return waiting('payout', 'it is ready, and starts within seconds while the server runs');
  const until = claim && !destination ? ` until ${at(claim.untilS * 1000)}, then it fails` : '';
  const advice = destination
    ? `\`quayside refund approve ${id}\`, or \`quayside refund reject ${id} --reason …\``
    : `the dashboard has the payer’s link; or name an address: \`quayside refund destination ${id} ADDRESS --reason …\``;
  return waiting('payout', `${waits}${until}`, advice);
}

/** Finds a payout that is no refund. */
export const findPayout: Finder = async (scene, id) => {
  const payout = await scene.database.payouts.find(id);
  if (!payout) return [];
  const json = await payoutJson(scene, payout);
  return [{ kind: payout.intent.kind, json, findings: await payoutFindings(scene, payout) }];
};

/** Returns a payout with its attempts for programs. */
async function payoutJson({ database, config }: Scene, payout: Payout) {
  return { ...shownPayout(payout, config), attempts: (await database.payouts.attempts(payout.id)).map(attemptJson) };
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

/** Returns a payout, with its attempts, and its outcome or what it waits for. */
export async function payoutFindings(scene: Scene, payout: Payout): Promise<Finding[]> {
  const { id, intent, network, state } = payout;
  const text = `${intent.kind} ${id} of ${amountOf(payout, scene.config)} on ${network}, ${state}`;
  return [ok('payout', text), ...(await attemptFindings(scene, payout))];
}

async function attemptFindings(scene: Scene, payout: Payout): Promise<Finding[]> {
  const attempts = await scene.database.payouts.attempts(payout.id);
  const shown = attempts.map((one) => {
    const sent = one.sentAtMs === null ? 'not sent' : `sent at ${at(one.sentAtMs)}`;
    const said = one.answer === null ? '' : `; the node said: ${one.answer}`;
    return note('attempt', `${attemptName(one)}: ${one.tx ?? 'not signed'}, ${sent}${said}`);
  });
  return [...shown, await outcomeOf(scene, payout)];
}

async function outcomeOf(scene: Scene, payout: Payout): Promise<Finding> {
  const { id, state, network, settledAtMs, tx, notBeforeMs } = payout;
  const area = 'outcome';
  const delay = delayOf(payout);
  const why = delay ? `${delay.message} (${delay.code})` : 'no reason is known';
  if (state === 'succeeded') return ok(area, `final since ${at(settledAtMs ?? 0)}, transaction ${tx ?? '?'}`);
  if (state === 'canceled') return ok(area, 'canceled, when nothing that was signed for it could pay');
  if (state === 'failed') return failure(area, `it failed: ${why}`);
  const freeze = await scene.database.holds.find(network);
  if (freeze) return failure(area, `money out is frozen: ${freezeText(freeze)}`, `find out why; then ${endOf(freeze)}`);
  if (!scene.config.signer)
    return failure(area, 'nothing can be signed: the configuration has no `signer`', 'set one up: docs/money.md');
  if (state === 'stuck') return failure(area, `it is stuck: ${why}`, `\`quayside payout resolve ${id}\` ends it`);
  const engine = (await scene.database.engines.list()).find((one) => one.network === network);
  const severityOf = (code: string) => (isPassing(code) ? 'waiting' : 'error');
  if (engine?.reason) {
    const { code, message } = engine.reason;
    return finding(severityOf(code), area, `payouts on ${network} are stopped: ${message} (${code})`);
  }
  if (delay)
    return finding(severityOf(delay.code), area, `it waits: ${why}`, '`quayside status` shows what the wallets hold');
  if (notBeforeMs > scene.nowMs)
    return waiting(area, `it is signed after ${at(notBeforeMs)}, when it can no longer be canceled`);
  return waiting(area, state === 'sent' ? 'it waits for a block and for finality' : 'it is signed next');
}
