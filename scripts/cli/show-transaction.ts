/**
 * A transaction: what it brought to us, which payout it is, or where it may belong.
 */

import type { Family } from '../../src/chains/chain.ts';
import { coinText } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { Fault } from '../../src/core/fault.ts';
import type { ReportedTransfer, TransactionReport } from '../../src/core/lookup.ts';
import type { TracedAddress, TracedOutgoing } from '../../src/database/traces.ts';
import { type Link, link } from './show-link.ts';
import { gapLinks, networkLink, type Place, rereadCommand } from './show-network.ts';
import { payoutLink, payoutLinks } from './show-payout.ts';
import { addressText, type Scene } from './show-scene.ts';
import { sessionLink } from './show-session.ts';
import { transferLink } from './show-transfer.ts';

/** Sessions that one transaction pays and that are shown whole. */
const SESSIONS_SHOWN_MAX = 10;
/** Recipients of one transaction that are looked up; an airdrop may have thousands. */
const RECIPIENTS_CHECKED_MAX = 200;

/** A transaction id as the families that it may belong to write it. */
type Candidate = Readonly<{ family: Family; tx: string }>;

/** Returns the families whose transaction ids look like this text. */
export const candidatesOf = (text: string): Candidate[] =>
  Object.values(chains).flatMap(({ family, transactionId }) => {
    const tx = transactionId(text);
    return tx === null ? [] : [{ family, tx }];
  });

/** Returns what is known of a transaction, named as somebody wrote it. `isKnown`: it is ours, or a node has it. */
export async function transactionLink(
  scene: Scene,
  name: string,
  candidates: readonly Candidate[],
  asksNodes: boolean,
): Promise<{ root: Link; isKnown: boolean }> {
  const txs = [...new Set(candidates.map(({ tx }) => tx))];
  const known = (await Promise.all(txs.map((tx) => knownLinks(scene, tx)))).flat();
  if (known.length > 0) return { root: link('transaction', 'ok', name, null, known), isKnown: true };
  const places = [...scene.places.values()].filter(({ network }) =>
    candidates.some(({ family }) => family === network.family),
  );
  if (asksNodes) return askNodes(scene, candidates, places, name);
  const keys = places.map(({ network }) => network.key);
  const text =
    keys.length === 0
      ? `${name}: no configured network has transactions of this form`
      : `${name}: nothing of ours is known in it. By its form it may be of ${keys.join(', ')}`;
  const advice = keys.length === 0 ? null : `ask the nodes: \`quayside show ${name} --ask-node\``;
  const following = places.map((place) => networkLink(place, scene.nowMs));
  return { root: link('transaction', 'note', text, advice, following), isKnown: false };
}

async function knownLinks(scene: Scene, tx: string): Promise<Link[]> {
  const { database } = scene;
  const traced = await database.traces.ofTransaction(tx);
  const sessionIds = [...new Set(traced.flatMap(({ address }) => address.sessionId ?? []))];
  const sessions: Link[] = [];
  for (const id of sessionIds.slice(0, SESSIONS_SHOWN_MAX)) {
    const session = await database.sessions.find(id);
    if (session) sessions.push(await sessionLink(scene, session));
  }
  const nobodys = traced.filter(({ address }) => address.sessionId === null);
  const others = await Promise.all(nobodys.map((transfer) => transferLink(scene, transfer, null)));
  const payoutId = await database.findAttemptOwner(tx);
  const payout = payoutId === null ? null : await database.findPayout(payoutId);
  const outgoing = payout ? [] : (await database.traces.outgoingOf(tx)).map((one) => outgoingLink(scene, one));
  return [...others, ...sessions, ...(payout ? [await ownedBy(scene, payout)] : []), ...outgoing];
}

async function ownedBy(scene: Scene, payout: NonNullable<Awaited<ReturnType<Scene['database']['findPayout']>>>) {
  const session = payout.sessionId === null ? null : await scene.database.sessions.find(payout.sessionId);
  const own = await payoutLink(scene, payout);
  return session ? { ...own, links: [...(await payoutLinks(scene, payout)), await sessionLink(scene, session)] } : own;
}

function outgoingLink(scene: Scene, { network, number, role, to, currency, units, state }: TracedOutgoing): Link {
  const place = scene.places.get(network)?.network;
  const text = `${coinText(place ? [place] : [], network, currency, units)} left the ${role} wallet in block ${number} of ${network}, to ${addressText(scene, network, to)}`;
  if (state === 'recorded' || state === 'known') return link('outcome', 'ok', `${text}; no payout of ours (${state})`);
  if (state === 'open') return link('outcome', 'waiting', `${text}; judged once the block is final`);
  const advice = `look at \`quayside payout reconcile ${network} --dry-run\`; money out is frozen there until \`quayside payout reconcile ${network} --reason …\``;
  return link('outcome', 'broken', `${text}, and no payout explains it`, advice);
}

// ── Asking the nodes ─────────────────────────────────────────────────────────────────────────────────────────────────

async function askNodes(scene: Scene, candidates: readonly Candidate[], places: readonly Place[], name: string) {
  const answers = await Promise.all(
    places.map(async (place) => {
      const tx = candidates.find(({ family }) => family === place.network.family)?.tx ?? name;
      const report = await lookUp(place.network, tx);
      return {
        isKnown: !(report instanceof Fault) && report.kind !== 'unknown',
        own: await answerLink(scene, place, tx, report),
      };
    }),
  );
  const found = answers.filter(({ isKnown }) => isKnown);
  const text = found.length > 0 ? name : `${name}: nothing of ours is known in it, and no node that answered has it`;
  // Once a node has it, the others that do not are no news.
  const shown = (found.length > 0 ? found : answers).map(({ own }) => own);
  return { root: link('transaction', 'ok', text, null, shown), isKnown: found.length > 0 };
}

async function lookUp(network: NetworkConfig, tx: string): Promise<TransactionReport | Fault> {
  const { followerNodeOptions } = await import('../../indexers/follower/node-options.ts');
  const { openNode } = await chains[network.family].node();
  const node = openNode(followerNodeOptions(network));
  try {
    return await node.lookup(tx);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  } finally {
    await node.close();
  }
}

async function answerLink(scene: Scene, place: Place, tx: string, report: TransactionReport | Fault): Promise<Link> {
  const { key } = place.network;
  if (report instanceof Fault) {
    return link('network', 'broken', `${key}: its node could not tell: ${report.message}`, `\`quayside show ${key}\``);
  }
  if (report.kind === 'unknown')
    return link('network', 'note', `${key}: its node does not know it, or has forgotten it`);
  if (report.kind !== 'mined') {
    const advice =
      'nothing to do: it counts once a block contains it. With a low fee that can take long, or never happen';
    return link('block', 'waiting', `${key}: it was sent, and is in no block yet`, advice);
  }
  const { number, succeeded, transfers } = report;
  const block = link('block', 'ok', `block ${number} of ${key}, by its node`);
  const root = (links: readonly Link[]): Link =>
    link('transfer', 'ok', `on ${key}, by its node`, null, [block, ...links]);
  if (!succeeded) {
    const advice = 'nothing was paid; the payer can pay again';
    return root([link('outcome', 'broken', 'it failed on the chain, and moved nothing', advice)]);
  }
  const recipients = transfers.slice(0, RECIPIENTS_CHECKED_MAX);
  const matched: Link[] = [];
  for (const transfer of recipients) {
    const own = (await scene.database.traces.findAddresses(place.network.family, transfer.to)).find(
      ({ mode }) => mode === place.network.mode,
    );
    if (own) matched.push(...(await ownLinks(scene, place, number, transfer, own)));
  }
  return root(matched.length > 0 ? matched : [await notOurs(scene, place, tx, transfers)]);
}

async function ownLinks(
  scene: Scene,
  place: Place,
  number: number,
  { to, currency }: ReportedTransfer,
  own: TracedAddress,
): Promise<Link[]> {
  const { network, report } = place;
  const owner =
    own.sessionId === null ? `our address number ${own.index} (${own.state})` : `the address of ${own.sessionId}`;
  const address = addressText(scene, network.key, to);
  if (currency === null) {
    const takes = network.tokens.map(({ symbol, address: contract }) => `${symbol} (${contract})`).join(' and ');
    const text = `to ${address}, ${owner}, but in the wrong token: ${network.key} takes ${takes}`;
    const advice =
      'it is never credited. The coins are on that address: whoever has the seed phrase can move them by hand';
    return [link('match', 'broken', text, advice)];
  }
  const match = link('match', 'ok', `${currency} to ${address}, ${owner}`);
  const gaps = gapLinks(place, { from: number, to: number });
  if (gaps.length > 0) return [match, ...gaps];
  const tip = report?.cursor?.number ?? -1;
  const following = networkLink(place, scene.nowMs);
  if (number > tip) {
    const text = `block ${number} was not read yet (read up to ${tip})`;
    return following.mark === 'broken' ? [match, following] : [match, link('block', 'waiting', text)];
  }
  const range = { from: number, to: number };
  const text = `block ${number} was read, and this transfer is not known: it may have been missed`;
  const advice = `${rereadCommand(place, range)}; if it is missing, add it: ${rereadCommand(place, range, false)}`;
  return [match, link('match', 'broken', text, advice)];
}

async function notOurs(
  scene: Scene,
  { network }: Place,
  tx: string,
  transfers: readonly ReportedTransfer[],
): Promise<Link> {
  const wallets = await scene.database.listOwnWallets(network.key);
  const wallet = wallets.find(({ key }) => transfers.some(({ to }) => to === key));
  if (wallet) return link('match', 'ok', `to our ${wallet.role} wallet: no payment of an order`);
  const [first, ...others] = transfers;
  if (!first) return link('match', 'broken', 'it moves no token and no coin that could pay an order');
  const more = others.length === 0 ? '' : ` and ${others.length} other(s)`;
  const text = `it pays ${addressText(scene, network.key, first.to)}${more}: none of our addresses`;
  const page = network.explorer ? ` (${network.explorer.replace('{tx}', tx)})` : '';
  const advice = `compare with the address on the payment page; \`quayside show\` has it${page}`;
  return link('match', 'broken', text, advice);
}
