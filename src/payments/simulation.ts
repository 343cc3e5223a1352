/**
 * Simulations for a session in the sandbox, with which an integrator can try every state and webhook without a chain.
 */

import type { PaymentOption } from '../database/column-values.ts';
import type { Session } from '../database/session.ts';

export const simulations = [
  'pay_exact',
  'pay_under',
  'pay_over',
  'pay_twice',
  'pay_late',
  'pay_wrong_token',
  'mine',
  'reorg',
  'expire',
] as const;
export type Simulation = (typeof simulations)[number];

/**
 * Runs a simulation on the option's network.
 * @returns the hashes of the sent transactions, in order
 * @throws Fault `simulation_refused` (permanent) with the reason; `sandbox_unreachable` (transient)
 */
export type Simulate = (session: Session, option: PaymentOption, simulation: Simulation) => Promise<readonly string[]>;

/** Returns the session's first option that has the network and currency of a request, if it names any. */
export const simulatedOption = (
  { options }: Pick<Session, 'options'>,
  wish: Readonly<{ network?: string | undefined; currency?: string | undefined }>,
): PaymentOption | undefined =>
  options.find(
    ({ network, currency }) =>
      (wish.network === undefined || wish.network === network) &&
      (wish.currency === undefined || wish.currency === currency),
  );
