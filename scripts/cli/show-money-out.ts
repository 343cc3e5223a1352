/** Money that goes out: refunds and returns, payouts with their attempts. */
import { refundJson, whatNext } from '../../src/acts/refunds.ts';
import { type Attempt, attemptName, delayOf, type Payout } from '../../src/core/payout.ts';
import { isPassing } from '../../src/core/reasons.ts';
import { mapInOrder } from '../../src/database/engine/bodies.ts';
import { endOf } from '../../src/database/payouts/holds.ts';
import type { Refund } from '../../src/database/refunds/refund.ts';
import { TRACED_MAX } from '../../src/database/transfers.ts';
import { type Finding, failure, finding, waiting } from '../nodes/finding.ts';
import { momentOrNull } from './command.ts';
import { freezeText, shownPayout } from './payouts.ts';
import { at, type Finder, type Scene, type Shown } from './show-network.ts';

/** Finds a refund or a return of held money by our id or by the shop's, which several stores may use. */
export const findRefund: Finder = async (scene, id) => {
  const { refunds } = scene.database;
  const refund = await refunds.findBy({ id });
  const found = refund ? [refund] : await refunds.list({ refundId: id, limit: TRACED_MAX });
  return mapInOrder([...found], (one) => refundShown(scene, one));
};

/** Returns the refunds and returns of a session, oldest first. */
export async function refundsOf(scene: Scene, sessionId: string): Promise<Shown[]> {
  const refunds = await scene.database.refunds.list({ sessionId, limit: TRACED_MAX });
  return mapInOrder([...refunds].reverse(), (refund) => refundShown(scene, refund));
}

async function refundShown(scene: Scene, refund: Refund): Promise<Shown> {
  const { id, status, heldKind } = refund;
  const paying = await scene.database.payouts.find(id);
  const payout = paying && (await payoutShown(scene, paying));
  const findings =
    status === 'pending'
      ? [pendingFinding(refund)]
      : status === 'failed'
        ? [failure('refund', `${id} failed: ${whatNext(refund)}`, 'its amount is free again for another refund')]
        : status === 'processing'
          ? (payout?.findings ?? [waiting('payout', `${id}: its payout is not planned yet`)])
          : [];
  const json = { ...refundJson(refund), payout: payout?.json ?? null };
  return { kind: heldKind ? 'return' : 'refund', json, findings };
}

function pendingFinding(refund: Refund): Finding {
  const { id, destination, claim } = refund;
  const waits = whatNext(refund);
  if (!waits) return waiting('refund', `${id} is ready, and starts within seconds while the server runs`);
  const until = claim && !destination ? ` until ${at(claim.untilS * 1000)}, then it fails` : '';
  const advice = destination
    ? `\`quayside refund approve ${id}\`, or \`quayside refund reject ${id} --reason …\``
    : `the dashboard has the payer’s link; or name an address: \`quayside refund destination ${id} ADDRESS --reason …\``;
  return waiting('refund', `${id} is ${waits}${until}`, advice);
}

/** Finds a payout that is no refund. */
export const findPayout: Finder = async (scene, id) => {
  const payout = await scene.database.payouts.find(id);
  return payout ? [await payoutShown(scene, payout)] : [];
};

/** Returns a payout with its attempts, and what it waits for. */
export async function payoutShown(scene: Scene, payout: Payout): Promise<Shown> {
  const attempts = (await scene.database.payouts.attempts(payout.id)).map(attemptJson);
  const json = { ...shownPayout(payout, scene.config), attempts };
  const waits = await outcomeOf(scene, payout);
  return { kind: payout.intent.kind, json, findings: waits ? [waits] : [] };
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

/** Returns why a payout has failed, or what it waits for; null if it has ended well. */
async function outcomeOf(scene: Scene, payout: Payout): Promise<Finding | null> {
  const { id, state, network, notBeforeMs } = payout;
  const area = 'payout';
  const delay = delayOf(payout);
  const why = delay ? `${delay.message} (${delay.code})` : 'no reason is known';
  if (state === 'succeeded' || state === 'canceled') return null;
  if (state === 'failed') return failure(area, `${id} failed: ${why}`);
  const freeze = await scene.database.holds.find(network);
  if (freeze) return failure(area, `money out is frozen: ${freezeText(freeze)}`, `find out why; then ${endOf(freeze)}`);
  if (!scene.config.signer)
    return failure(area, 'nothing can be signed: the configuration has no `signer`', 'set one up: docs/money.md');
  if (state === 'stuck') return failure(area, `${id} is stuck: ${why}`, `\`quayside payout resolve ${id}\` ends it`);
  const engine = (await scene.database.engines.list()).find((one) => one.network === network);
  const severityOf = (code: string) => (isPassing(code) ? 'waiting' : 'error');
  if (engine?.reason) {
    const { code, message } = engine.reason;
    return finding(severityOf(code), area, `payouts on ${network} are stopped: ${message} (${code})`);
  }
  if (delay)
    return finding(
      severityOf(delay.code),
      area,
      `${id} waits: ${why}`,
      '`quayside status` shows what the wallets hold',
    );
  if (notBeforeMs > scene.nowMs)
    return waiting(area, `${id} is signed after ${at(notBeforeMs)}, when it can no longer be canceled`);
  return waiting(area, `${id} ${state === 'sent' ? 'waits for a block and for finality' : 'is signed next'}`);
}
