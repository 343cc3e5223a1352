/**
 * A payout: its attempts, what it waits for, and its outcome.
 */
import { type Attempt, attemptName, delayOf, type Payout } from '../../src/core/payout.ts';
import { isPassing } from '../../src/core/reasons.ts';
import { endOf } from '../../src/database/freezes.ts';
import { moment } from './command.ts';
import { freezeText } from './payout-freeze.ts';
import { amountOf, kindText, shownPayout } from './payouts.ts';
import { type Link, link, type Mark, type Shown } from './show-link.ts';
import { at, type Scene } from './show-scene.ts';
import { table } from './table.ts';

const shortOfMoney: readonly string[] = ['token_short', 'native_short'];

/** Shows a payout that is no refund. */
export async function payoutShown(scene: Scene, id: string): Promise<Shown | null> {
  const payout = await scene.database.findPayout(id);
  if (!payout) return null;
  const { json, lines } = await payoutFacts(scene, payout);
  return { kind: payout.intent.kind, json, lines, links: [await payoutLink(scene, payout)] };
}

/** Returns a payout and its attempts for people and programs. */
export async function payoutFacts({ database, config }: Scene, payout: Payout): Promise<Pick<Shown, 'json' | 'lines'>> {
  const attempts = await database.listPayoutAttempts(payout.id);
  const rows = attempts.map((one) => [
    attemptName(one),
    one.nonce === null ? '-' : String(one.nonce),
    one.tx ?? 'not signed',
    moment(one.signedAtMs),
    moment(one.sentAtMs),
    one.answer ?? '',
  ]);
  return {
    json: { ...shownPayout(payout, config), attempts: attempts.map(shownAttempt) },
    lines:
      rows.length === 0
        ? []
        : table([['ATTEMPT', 'NUMBER', 'TRANSACTION', 'SIGNED', 'SENT', 'NODE’S ANSWER'], ...rows]),
  };
}

const shownAttempt = (one: Attempt) => ({
  generation: one.generation,
  attempt: one.attempt,
  payer: one.payer,
  number: one.nonce,
  terms: one.terms,
  transaction_hash: one.tx,
  signed_at: one.signedAtMs === null ? null : moment(one.signedAtMs),
  sent_at: one.sentAtMs === null ? null : moment(one.sentAtMs),
  node_said: one.answer,
});

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
    const advice = `look at it with \`quayside show ${id}\`; then end it with \`quayside payout resolve ${id}\``;
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
    : `\`quayside show ${id}\` shows everything about it`;

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
