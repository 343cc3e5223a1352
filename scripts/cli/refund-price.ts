/**
 * What sending a refund costs at this moment, for whoever is about to approve it.
 * @module
 */
import { costsJson, priceSentences } from '../../indexers/payouts/plan-text.ts';
import { type PricedRefund, priceRefund } from '../../indexers/payouts/waiting-refunds.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { Fault, permanent } from '../../src/core/fault.ts';
import { isPayback } from '../../src/core/intent.ts';
import type { Payout } from '../../src/core/payout.ts';
import type { Refund } from '../../src/database/refunds.ts';
import type { Installation } from './command.ts';
import { withPayoutAccess } from './payout-access.ts';

/** An approval does not wait longer for a node. */
const WAIT_MS_MAX = 20_000;

/** A price for programs and for people, or why it is unknown. */
export type RefundPrice = Readonly<{
  json: ReturnType<typeof costsJson> | Readonly<{ unknown: string }>;
  lines: readonly string[];
}>;

/**
 * Prices a refund that has not been sent, with the code that plans sweeps. Whatever keeps the node or the signer from
 * answering is part of the answer.
 */
export async function priceOf(refund: Refund, installation: Installation): Promise<RefundPrice> {
  try {
    const network = installation.config.networks.find(({ key }) => key === refund.network);
    if (!network) throw permanent('not_found', `the configuration has no network ${refund.network} any more`);
    const costs = await askCosts(refund, network, installation);
    return { json: costsJson(network, costs), lines: priceSentences(network, costs) };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { json: { unknown: `${error.code}: ${error.message}` }, lines: [`price unknown: ${error.message}`] };
  }
}

async function askCosts(refund: Refund, network: NetworkConfig, { database, config, clock }: Installation) {
  const priced = await whatIsPaid(refund, await database.findPayout(refund.id));
  const ending = new AbortController();
  try {
    return await withPayoutAccess(network, { config }, (access) => {
      const answered = priceRefund(priced, { ...access, database });
      const timeUp = clock.sleep(WAIT_MS_MAX, ending.signal).then((): never => {
        throw permanent('node_timeout', `no answer from the node or the signer within ${WAIT_MS_MAX / 1000} s`);
      });
      // Whichever comes second has nobody who waits for it.
      for (const one of [answered, timeUp]) one.catch(() => {});
      return Promise.race([answered, timeUp]);
    });
  } finally {
    ending.abort();
  }
}

/** Returns what would be paid; before its payout is planned, as far as the price depends on it. */
function whatIsPaid({ id, network, currency, units, destination }: Refund, payout: Payout | null): PricedRefund {
  if (payout && isPayback(payout.intent)) return { intent: payout.intent };
  if (!destination) throw permanent('no_address', 'it depends on the address, which the payer has not named yet');
  const { key: to, mac } = destination;
  return { intent: { kind: 'refund', id, network, currency, to, units, mac } };
}
