/** A transaction: what it brought to us, which payout it is, or where it may belong. */
import type { Family } from '../../src/chains/chain.ts';
import { coinText } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import type { TracedOutgoing } from '../../src/database/traces.ts';
import { type Link, link } from './show-link.ts';
import { payoutLink } from './show-money-out.ts';
import { networkLink } from './show-network.ts';
import { ASK_PAYER, sessionLink, transferLink } from './show-payment.ts';
import { addressText, type Scene } from './show-scene.ts';

/** Sessions that one transaction pays and that are shown whole. */
const SESSIONS_SHOWN_MAX = 10;

/** A transaction id as the families that it may belong to write it. */
type Candidate = Readonly<{ family: Family; tx: string }>;

/** Returns the families whose transaction ids look like this text. */
export const candidatesOf = (text: string): Candidate[] =>
  Object.values(chains).flatMap(({ family, transactionId }) => {
    const tx = transactionId(text);
    return tx === null ? [] : [{ family, tx }];
  });

/** Returns what is known of a transaction, named as somebody wrote it. */
export async function transactionLink(
  scene: Scene,
  name: string,
  candidates: readonly Candidate[],
): Promise<Readonly<{ root: Link; isKnown: boolean }>> {
  const txs = [...new Set(candidates.map(({ tx }) => tx))];
  const known = (await Promise.all(txs.map((tx) => knownLinks(scene, tx)))).flat();
  if (known.length > 0) return { root: link('transaction', 'ok', name, null, known), isKnown: true };
  const places = [...scene.places.values()].filter(({ network }) =>
    candidates.some(({ family }) => family === network.family),
  );
  const keys = places.map(({ network }) => network.key).join(', ') || 'no configured network';
  const text = `${name}: nothing of ours is known in it. By its form it may be of ${keys}`;
  const following = places.map((place) => networkLink(place, scene.nowMs));
  return { root: link('transaction', 'note', text, ASK_PAYER, following), isKnown: false };
}

async function knownLinks(scene: Scene, tx: string): Promise<Link[]> {
  const { database } = scene;
  const traced = await database.traces.ofTransaction(tx);
  const payoutId = await database.payouts.ownerOf(tx);
  const payout = payoutId === null ? null : await database.payouts.find(payoutId);
  const owners = [...traced.map(({ address }) => address.sessionId), payout?.sessionId ?? null];
  const sessions: Link[] = [];
  for (const id of [...new Set(owners.flatMap((owner) => owner ?? []))].slice(0, SESSIONS_SHOWN_MAX)) {
    const session = await database.sessions.find(id);
    if (session) sessions.push(await sessionLink(scene, session));
  }
  const nobodys = traced.filter(({ address }) => address.sessionId === null);
  const others = await Promise.all(nobodys.map((transfer) => transferLink(scene, transfer, null)));
  const outgoing = payout ? [] : (await database.traces.outgoingOf(tx)).map((one) => outgoingLink(scene, one));
  return [...others, ...(payout ? [await payoutLink(scene, payout)] : []), ...sessions, ...outgoing];
}

function outgoingLink(scene: Scene, { network, number, role, to, currency, units, state }: TracedOutgoing): Link {
  const amount = coinText(scene.config.networks, network, currency, units);
  const text = `${amount} left the ${role} wallet in block ${number} of ${network}, to ${addressText(scene, network, to)}`;
  if (state === 'known') return link('outcome', 'ok', `${text}; no payout of ours (${state})`);
  if (state === 'open') return link('outcome', 'waiting', `${text}; judged once the block is final`);
  return link('outcome', 'broken', `${text}, and no payout explains it`, `\`quayside payout reconcile ${network}\``);
}
