/** A transaction: what it brought to us, which payout it is, or where it may belong. */
import type { Family } from '../../src/chains/chain.ts';
import { coinText } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { Fault } from '../../src/core/fault.ts';
import type { ReportedTransfer, TransactionReport } from '../../src/core/lookup.ts';
import type { TracedOutgoing } from '../../src/database/traces.ts';
import { type Link, link } from './show-link.ts';
import { payoutLink } from './show-money-out.ts';
import { gapLinks, networkLink, type Place, rereadCommand } from './show-network.ts';
import { sessionLink, transferLink } from './show-payment.ts';
import { addressText, type Scene } from './show-scene.ts';

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
): Promise<Readonly<{ root: Link; isKnown: boolean }>> {
  const txs = [...new Set(candidates.map(({ tx }) => tx))];
  const known = (await Promise.all(txs.map((tx) => knownLinks(scene, tx)))).flat();
  if (known.length > 0) return { root: link('transaction', 'ok', name, null, known), isKnown: true };
  const places = [...scene.places.values()].filter(({ network }) =>
    candidates.some(({ family }) => family === network.family),
  );
  if (asksNodes) return askNodes(scene, candidates, places, name);
  const keys = places.map(({ network }) => network.key).join(', ') || 'no configured network';
  const text = `${name}: nothing of ours is known in it. By its form it may be of ${keys}`;
  const following = places.map((place) => networkLink(place, scene.nowMs));
  const root = link('transaction', 'note', text, `ask the nodes: \`quayside show ${name} --ask-node\``, following);
  return { root, isKnown: false };
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
  if (state === 'recorded' || state === 'known') return link('outcome', 'ok', `${text}; no payout of ours (${state})`);
  if (state === 'open') return link('outcome', 'waiting', `${text}; judged once the block is final`);
  return link('outcome', 'broken', `${text}, and no payout explains it`, `\`quayside payout reconcile ${network}\``);
}

async function askNodes(scene: Scene, candidates: readonly Candidate[], places: readonly Place[], name: string) {
  const answers = await Promise.all(
    places.map(async (place) => {
      const tx = candidates.find(({ family }) => family === place.network.family)?.tx ?? name;
      const report = await lookUp(place.network, tx);
      const isKnown = !(report instanceof Fault) && report.kind !== 'unknown';
      return { isKnown, own: await answerLink(scene, place, report) };
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

async function answerLink(scene: Scene, place: Place, report: TransactionReport | Fault): Promise<Link> {
  const { key, family, mode } = place.network;
  if (report instanceof Fault)
    return link('network', 'broken', `${key}: its node could not tell: ${report.message}`, `\`quayside show ${key}\``);
  if (report.kind === 'unknown') return link('network', 'note', `${key}: its node does not know it`);
  if (report.kind !== 'mined') return link('block', 'waiting', `${key}: it was sent, and is in no block yet`);
  const { number, succeeded, transfers } = report;
  const root = (links: readonly Link[]) =>
    link('transfer', 'ok', `in block ${number} of ${key}, by its node`, null, links);
  if (!succeeded) return root([link('outcome', 'broken', 'it failed on the chain, and moved nothing')]);
  const matched: Link[] = [];
  for (const transfer of transfers.slice(0, RECIPIENTS_CHECKED_MAX)) {
    const all = await scene.database.traces.findAddresses(family, transfer.to);
    const own = all.find((one) => one.mode === mode);
    const owner =
      own && (own.sessionId === null ? `our address number ${own.index}` : `the address of ${own.sessionId}`);
    if (owner) matched.push(...ownLinks(scene, place, number, transfer, owner));
  }
  return root(matched.length > 0 ? matched : [await notOurs(scene, place, transfers)]);
}

function ownLinks(
  scene: Scene,
  place: Place,
  number: number,
  { to, currency }: ReportedTransfer,
  owner: string,
): Link[] {
  const { network, report } = place;
  const address = `${addressText(scene, network.key, to)}, ${owner}`;
  if (currency === null) {
    const takes = network.tokens.map(({ symbol, address: contract }) => `${symbol} (${contract})`).join(' and ');
    const text = `to ${address}, but in the wrong token: ${network.key} takes ${takes}`;
    return [link('match', 'broken', text, 'it is never credited; the holder of the seed phrase can move it by hand')];
  }
  const match = link('match', 'ok', `${currency} to ${address}`);
  const range = { from: number, to: number };
  const gaps = gapLinks(place, range);
  if (gaps.length > 0) return [match, ...gaps];
  const tip = report?.cursor?.number ?? -1;
  if (number > tip) {
    const unread = link('block', 'waiting', `block ${number} was not read yet (read up to ${tip})`);
    const following = networkLink(place, scene.nowMs);
    return [match, following.mark === 'broken' ? following : unread];
  }
  const text = `block ${number} was read, and this transfer is not known: it may have been missed`;
  const advice = `${rereadCommand(place, range)}; if it is missing, add it: ${rereadCommand(place, range, false)}`;
  return [match, link('match', 'broken', text, advice)];
}

async function notOurs(scene: Scene, { network }: Place, transfers: readonly ReportedTransfer[]): Promise<Link> {
  const wallets = await scene.database.wallets.listOwn(network.key);
  const wallet = wallets.find(({ key }) => transfers.some(({ to }) => to === key));
  if (wallet) return link('match', 'ok', `to our ${wallet.role} wallet: no payment of an order`);
  const [first] = transfers;
  if (!first) return link('match', 'broken', 'it moves no token and no coin that could pay an order');
  const text = `it pays ${addressText(scene, network.key, first.to)}: none of our addresses`;
  return link('match', 'broken', text, 'compare with the address on the payment page; `quayside show` has it');
}
