/**
 * What may be made to happen to a session in the sandbox, so that an integrator meets every state and every webhook without a chain.
 * @module
 */
import type { PaymentOption, Session } from '../database/database.ts';

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
 * Makes it happen on the option's network.
 * @returns the hashes of the transactions that were sent, in their order
 * @throws Fault `simulation_refused` (permanent) with a sentence why not; `sandbox_unreachable` (transient)
 */
export type Simulate = (session: Session, option: PaymentOption, simulation: Simulation) => Promise<readonly string[]>;

/** The option that a request names, or the first that fits: a session without a wish is paid on its first network. */
export const simulatedOption = (
  { options }: Pick<Session, 'options'>,
  wish: Readonly<{ network?: string | undefined; currency?: string | undefined }>,
): PaymentOption | undefined =>
  options.find(
    ({ network, currency }) =>
      (wish.network === undefined || wish.network === network) &&
      (wish.currency === undefined || wish.currency === currency),
  );
