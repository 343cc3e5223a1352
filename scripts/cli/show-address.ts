/** An address or a transaction: what it brought to us, and which wallet or payout of ours it is. */

import { coinText } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import { mapInOrder } from '../../src/database/engine/bodies.ts';
import type { TracedAddress, TracedOutgoing } from '../../src/database/transfers.ts';
import { createAddressFormat } from '../../src/payments/destination.ts';
import { type Finding, failure, ok, waiting } from '../nodes/finding.ts';
import { notFound } from './command.ts';
import { payoutFindings } from './show-money-out.ts';
import { sessionFindings, stateOf, transferFindings } from './show-payment.ts';
import type { Finder, Scene } from './show-scene.ts';

/** Sessions that one transaction pays and that are shown whole. */
const SESSIONS_SHOWN_MAX = 10;

const ASK_PAYER =
  'Look in an explorer which address it pays, and show that: `quayside show ADDRESS`. The payer can paste the transaction ' +
  'on the payment page, which asks the node';

/** Finds what is known of a transaction, by any text that has the form of one. @throws Fault permanent `not_found` */
export const findTransaction: Finder = async (scene, text) => {
  const names = [...new Set(Object.values(chains).flatMap(({ transactionId }) => transactionId(text) ?? []))];
  if (names.length === 0) return [];
  const known = (await mapInOrder(names, (tx) => transactionFindings(scene, tx))).flat();
  if (known.length > 0) return [{ kind: 'transaction', json: {}, findings: [ok('transaction', text), ...known] }];
  throw notFound(`${text}: nothing of ours is known in it. ${ASK_PAYER}`);
};

async function transactionFindings(scene: Scene, tx: string): Promise<Finding[]> {
  const { database } = scene;
  const traced = await database.traces.ofTransaction(tx);
  const payoutId = await database.payouts.ownerOf(tx);
  const payout = payoutId === null ? null : await database.payouts.find(payoutId);
  const owners = new Set([...traced.map(({ address }) => address.sessionId), payout?.sessionId ?? null]);
  const sessions = await mapInOrder([...owners].slice(0, SESSIONS_SHOWN_MAX), (id) => ownerFindings(scene, id));
  const nobodys = traced.filter(({ address }) => address.sessionId === null);
  const others = await mapInOrder(nobodys, (transfer) => transferFindings(scene, transfer, null));
  const outgoing = payout ? [] : (await database.traces.outgoingOf(tx)).map((one) => outgoingFinding(scene, one));
  return [...others.flat(), ...(payout ? await payoutFindings(scene, payout) : []), ...sessions.flat(), ...outgoing];
}

async function ownerFindings(scene: Scene, sessionId: string | null): Promise<Finding[]> {
  const session = sessionId === null ? null : await scene.database.sessions.find(sessionId);
  return session ? sessionFindings(scene, session) : [];
}

function outgoingFinding(scene: Scene, one: TracedOutgoing): Finding {
  const { network, blockNumber: number, role, toKey: to, currency, units, state } = one;
  const amount = coinText(scene.config.networks, network, currency, units);
  const text = `${amount} left the ${role} wallet in block ${number} of ${network}, to ${createAddressFormat(scene.config)(network, to)}`;
  if (state === 'known') return ok('outcome', `${text}; no payout of ours (${state})`);
  if (state === 'open') return waiting('outcome', `${text}; judged once the block is final`);
  return failure('outcome', `${text}, and no payout explains it`, `\`quayside payout reconcile ${network}\``);
}

/** Finds what is known of an address, by any text that has the form of one. @throws Fault permanent `not_found` */
export const findAddress: Finder = async (scene, text) => {
  const names = Object.values(chains).flatMap(({ family, address }) => {
    const key = address.parse(text);
    return key === null ? [] : [{ family, key }];
  });
  if (names.length === 0) return [];
  const own = (await mapInOrder(names, ({ family, key }) => scene.database.traces.findAddresses(family, key))).flat();
  const findings = (await mapInOrder(own, (one) => addressFindings(scene, text, one))).flat();
  if (findings.length > 0) return [{ kind: 'address', json: {}, findings }];
  const foreign = `${text} is none of our deposit addresses: money sent there pays no order`;
  throw notFound(`${foreign}. Compare it with the address on the payment page`);
};

const meaningOf = {
  free: 'no session has it yet; it is watched',
  retired: 'retired: it is watched, and never given to a session',
  spoiled: 'it received money before any session took it; it is watched, and never given out',
  taken: 'taken',
} as const;

async function addressFindings(scene: Scene, text: string, own: TracedAddress): Promise<Finding[]> {
  const name = `${text}, our ${own.mode} ${own.family} address number ${own.derivationIndex}`;
  if (own.sessionId !== null)
    return [ok('address', `${name}, taken by ${own.sessionId}`), ...(await ownerFindings(scene, own.sessionId))];
  const traced = await scene.database.traces.ofAddress(own.id);
  const transfers = await mapInOrder(traced, (transfer) => transferFindings(scene, transfer, null));
  return [ok('address', `${name}: ${meaningOf[stateOf(own)]}`), ...transfers.flat()];
}
