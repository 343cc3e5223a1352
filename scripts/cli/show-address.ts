/** An address or a transaction: what it brought to us, and which wallet or payout of ours it is. */
import { coinText } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import { mapInOrder } from '../../src/database/engine/bodies.ts';
import type { TracedAddress, TracedOutgoing } from '../../src/database/transfers.ts';
import { addressText, type Finder, type Link, link, type Scene } from './show-link.ts';
import { payoutLink } from './show-money-out.ts';
import { sessionLink, stateOf, transferLink } from './show-payment.ts';

/** Sessions that one transaction pays and that are shown whole. */
const SESSIONS_SHOWN_MAX = 10;

const ASK_PAYER =
  'look in an explorer which address it pays, and show that: `quayside show ADDRESS`. The payer can paste the transaction ' +
  'on the payment page, which asks the node';

/** Finds what is known of a transaction, by any text that has the form of one. */
export const findTransaction: Finder = async (scene, text) => {
  const ids = Object.values(chains).flatMap(({ family, transactionId }) => {
    const tx = transactionId(text);
    return tx === null ? [] : [{ family, tx }];
  });
  if (ids.length === 0) return [];
  const known = (await Promise.all([...new Set(ids.map(({ tx }) => tx))].map((tx) => knownLinks(scene, tx)))).flat();
  if (known.length > 0)
    return [{ kind: 'transaction', json: {}, links: [link('transaction', 'ok', text, null, known)] }];
  const keys = scene.config.networks.filter((one) => ids.some(({ family }) => family === one.family));
  const places = keys.map(({ key }) => key).join(', ') || 'no configured network';
  const unknown = `${text}: nothing of ours is known in it. By its form it may be of ${places}`;
  const links = [link('transaction', 'note', unknown, ASK_PAYER)];
  return [{ kind: 'transaction', json: {}, links, isForeign: true }];
};

async function knownLinks(scene: Scene, tx: string): Promise<Link[]> {
  const { database } = scene;
  const traced = await database.traces.ofTransaction(tx);
  const payoutId = await database.payouts.ownerOf(tx);
  const payout = payoutId === null ? null : await database.payouts.find(payoutId);
  const owners = new Set([...traced.map(({ address }) => address.sessionId), payout?.sessionId ?? null]);
  const sessions = await mapInOrder([...owners].slice(0, SESSIONS_SHOWN_MAX), (id) => ownerLinks(scene, id));
  const nobodys = traced.filter(({ address }) => address.sessionId === null);
  const others = await Promise.all(nobodys.map((transfer) => transferLink(scene, transfer, null)));
  const outgoing = payout ? [] : (await database.traces.outgoingOf(tx)).map((one) => outgoingLink(scene, one));
  return [...others, ...(payout ? [await payoutLink(scene, payout)] : []), ...sessions.flat(), ...outgoing];
}

async function ownerLinks(scene: Scene, sessionId: string | null): Promise<Link[]> {
  const session = sessionId === null ? null : await scene.database.sessions.find(sessionId);
  return session ? [await sessionLink(scene, session)] : [];
}

function outgoingLink(scene: Scene, { network, number, role, to, currency, units, state }: TracedOutgoing): Link {
  const amount = coinText(scene.config.networks, network, currency, units);
  const text = `${amount} left the ${role} wallet in block ${number} of ${network}, to ${addressText(scene, network, to)}`;
  if (state === 'known') return link('outcome', 'ok', `${text}; no payout of ours (${state})`);
  if (state === 'open') return link('outcome', 'waiting', `${text}; judged once the block is final`);
  return link('outcome', 'broken', `${text}, and no payout explains it`, `\`quayside payout reconcile ${network}\``);
}

/** Finds what is known of an address, by any text that has the form of one. */
export const findAddress: Finder = async (scene, text) => {
  const names = Object.values(chains).flatMap(({ family, address }) => {
    const key = address.parse(text);
    return key === null ? [] : [{ family, key }];
  });
  if (names.length === 0) return [];
  const links = await mapInOrder(names, async ({ family, key }) => {
    const own = await scene.database.traces.findAddresses(family, key);
    const onNetworks = scene.config.networks.filter((one) => one.family === family);
    const wallets = await mapInOrder(onNetworks, async (network) =>
      (await scene.database.wallets.listOwn(network.key)).flatMap(({ key: own, role }) =>
        own === key
          ? [link('address', 'ok', `${text} is our ${role} wallet on ${network.key}: what comes to it pays no order`)]
          : [],
      ),
    );
    return [...(await mapInOrder(own, (one) => ownLink(scene, text, one))), ...wallets.flat()];
  });
  const known = links.flat();
  if (known.length > 0) return [{ kind: 'address', json: {}, links: known }];
  const foreign = `${text} is none of our deposit addresses or wallets: money sent there does not reach us`;
  const unknown = link('address', 'note', foreign, 'compare with the address on the payment page');
  return [{ kind: 'address', json: {}, links: [unknown], isForeign: true }];
};

const meaningOf = {
  free: 'no session has it yet; it is watched',
  retired: 'retired: it is watched, and never given to a session',
  spoiled: 'it received money before any session took it; it is watched, and never given out',
  taken: 'taken',
} as const;

async function ownLink(scene: Scene, text: string, own: TracedAddress): Promise<Link> {
  const name = `${text}, our ${own.mode} ${own.family} address number ${own.index}`;
  if (own.sessionId !== null)
    return link('address', 'ok', `${name}, taken by ${own.sessionId}`, null, await ownerLinks(scene, own.sessionId));
  const traced = await scene.database.traces.ofAddress(own.id);
  const transfers = await mapInOrder(traced, (transfer) => transferLink(scene, transfer, null));
  return link('address', 'ok', `${name}: ${meaningOf[stateOf(own)]}`, null, transfers);
}
