/**
 * The endpoint that simulates payments in the sandbox. It exists only if there are simulated networks.
 */
import * as z from 'zod';
import { Fault } from '../core/fault.ts';
import { currencies } from '../core/transfer.ts';
import { type Simulate, simulatedOption, simulations } from '../payments/simulation.ts';
import { type ApiDeps, type Endpoint, endpoint } from './endpoint.ts';
import { refuse } from './errors.ts';
import { badParam } from './parameter.ts';
import { findSession } from './session-service.ts';

const bodySchema = z
  .object({
    action: z.enum(simulations).meta({
      description:
        '`pay_*` sends simulated money; `mine` adds the blocks that confirm it; `reorg` removes unconfirmed payments; `expire` makes the session expire.',
      example: 'pay_under',
    }),
    network: z.string().nullish().meta({ description: 'Default: the session’s first.' }),
    currency: z.enum(currencies).nullish().meta({ description: 'Default: the network’s first stablecoin.' }),
  })
  .meta({ id: 'Simulation' });

const answerSchema = z
  .object({
    action: z.enum(simulations).meta({ description: 'The action that was simulated.' }),
    network: z.string().meta({ description: 'Name of the simulated network.' }),
    currency: z.enum(currencies).meta({ description: 'The stablecoin of the payment option.' }),
    transaction_hashes: z.array(z.string()).meta({ description: 'The transactions that were made.' }),
  })
  .meta({ id: 'Simulated' });

export const simulationEndpoint = (deps: ApiDeps, simulate: Simulate): Endpoint =>
  endpoint({
    method: 'post',
    path: '/api/v1/test/sessions/{session_id}/simulate',
    scope: 'sessions:write',
    isReadOnly: true,
    operationId: 'simulate',
    tag: 'Sandbox',
    summary: 'Simulate a payment',
    description:
      'Simulates a payment or another event on the session’s simulated network. The effects are real: the session changes and webhooks are sent. A repeated call simulates again.',
    body: [bodySchema, { action: 'pay_under' }],
    answer: [
      answerSchema,
      { action: 'pay_under', network: 'mynet', currency: 'USDT', transaction_hashes: [`0x${'5e'.repeat(32)}`] },
    ],
    errors: ['simulation_refused'],
    async run({ caller, id, body }) {
      const session = await findSession(deps, caller, id);
      const { action, network, currency } = body;
      const option = simulatedOption(session, { network: network ?? undefined, currency: currency ?? undefined });
      if (!option) {
        const isNetwork = network != null && !session.options.some((one) => one.network === network);
        throw badParam(isNetwork ? 'network' : 'currency', 'is not among the session’s payment options');
      }
      try {
        const transaction_hashes = await simulate(session, option, action);
        return { body: { action, network: option.network, currency: option.currency, transaction_hashes } };
      } catch (error) {
        if (error instanceof Fault) throw refuse('simulation_refused', { message: error.message });
        throw error;
      }
    },
  });
