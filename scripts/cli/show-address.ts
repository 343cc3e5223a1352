/** Addresses and transactions that no session has to do with. */

import { coinText } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import { mapInOrder } from '../../src/database/engine/bodies.ts';
import type { TracedOutgoing } from '../../src/database/transfers.ts';
import { createAddressFormat } from '../../src/payments/destination.ts';
import { type Finding, failure, ok, waiting } from '../nodes/finding.ts';
import { notFound } from './command.ts';
import { payoutFindings } from './show-money-out.ts';
import { addressesNamed, stateOf, transactionsNamed, transferFindings } from './show-payment.ts';
import type { Finder, Scene } from './show-scene.ts';

const ASK_PAYER =
  'Look in an explorer which address it pays, and show that: `quayside show ADDRESS`. The payer can paste the transaction ' +
  'on the payment page, which asks the node';

/** Finds a transaction that no session has to do with. @throws Fault permanent `not_found` by its form alone */
export const findTransaction: Finder = async (scene, text) => {
  const names = transactionsNamed(text);
  const findings = (await mapInOrder(names, (tx) => transactionFindings(scene, tx))).flat();
  if (findings.length > 0) return [{ kind: 'transaction', json: {}, findings }];
  if (names.length === 0) return [];
  throw notFound(`${text}: nothing of ours is known in it. ${ASK_PAYER}`);
};

async function transactionFindings(scene: Scene, tx: string): Promise<Finding[]> {
  const { database } = scene;
  const payoutId = await database.payouts.ownerOf(tx);
  const payout = payoutId === null ? null : await database.payouts.find(payoutId);
  if (payout) return payoutFindings(scene, payout);
  const traced = await database.traces.ofTransaction(tx);
  const transfers = await mapInOrder(traced, (transfer) => transferFindings(scene, transfer, null));
  const outgoing = await database.traces.outgoingOf(tx);
  return [...transfers.flat(), ...outgoing.map((one) => outgoingFinding(scene, one))];
}

function outgoingFinding(scene: Scene, one: TracedOutgoing): Finding {
  const { network, blockNumber: number, role, toKey: to, currency, units, state } = one;
  const amount = coinText(scene.config.networks, network, currency, units);
  const text = `${amount} left the ${role} wallet in block ${number} of ${network}, to ${createAddressFormat(scene.config)(network, to)}`;
  if (state === 'known') return ok('outcome', `${text}; no payout of ours (${state})`);
  if (state === 'open') return waiting('outcome', `${text}; judged once the block is final`);
  return failure('outcome', `${text}, and no payout explains it`, `\`quayside payout reconcile ${network}\``);
}

const meaningOf = {
  free: 'no session has it yet; it is watched',
  retired: 'retired: it is watched, and never given to a session',
  spoiled: 'it received money before any session took it; it is watched, and never given out',
  taken: 'taken',
} as const;

/** Finds an address that no session has. @throws Fault permanent `not_found` by its form alone */
export const findAddress: Finder = async (scene, text) => {
  const own = await addressesNamed(scene, text);
  const isAddress = Object.values(chains).some(({ address }) => address.parse(text) !== null);
  if (isAddress && own.length === 0)
    throw notFound(`${text} is none of our deposit addresses. Compare it with the address on the payment page`);
  return mapInOrder([...own], async (one) => {
    const name = `${text}, our ${one.mode} ${one.family} address number ${one.derivationIndex}`;
    const traced = await scene.database.traces.ofAddress(one.id);
    const transfers = await mapInOrder(traced, (transfer) => transferFindings(scene, transfer, null));
    const findings = [ok('address', `${name}: ${meaningOf[stateOf(one)]}`), ...transfers.flat()];
    return { kind: 'address', json: {}, findings };
  });
};
