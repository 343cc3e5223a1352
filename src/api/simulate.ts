/**
 * Playing with a session in the sandbox. The endpoint exists only where simulated networks do.
 * @module
 */
import { z } from 'zod';
import { Fault } from '../core/fault.ts';
import { currencies } from '../core/transfer.ts';
import { type Simulate, simulatedOption, simulations } from '../payments/simulation.ts';
import type { ApiDeps, Endpoint } from './endpoint.ts';
import { refuse } from './errors.ts';
import { badParam, check } from './parameter.ts';
import { findSession } from './session-service.ts';

const bodySchema = z
  .object({
    action: z.enum(simulations).meta({
      description:
        '`pay_*` sends simulated money; `mine` adds the blocks that confirm it; `reorg` takes unconfirmed payments away; `expire` ends the session’s time.',
      example: 'pay_under',
    }),
    network: z.string().nullish().meta({ description: 'Default: the session’s first.' }),
    currency: z.enum(currencies).nullish(),
  })
  .meta({ id: 'Simulation' });

const answerSchema = z
  .object({
    action: z.enum(simulations),
    network: z.string(),
    currency: z.enum(currencies),
    transaction_hashes: z.array(z.string()),
  })
  .meta({ id: 'Simulated' });

export function simulationEndpoint(deps: ApiDeps, simulate: Simulate): Endpoint {
  return {
    method: 'post',
    path: '/api/v1/test/sessions/{session_id}/simulate',
    scope: 'sessions:write',
    doc: {
      operationId: 'simulate',
      tag: 'Sandbox',
      summary: 'Play with a session',
      description:
        'Makes something happen to a session on simulated networks. What follows is real: the session moves, webhooks are sent.',
      body: { schema: bodySchema, examples: { underpaid: { action: 'pay_under' } } },
      answer: {
        schema: answerSchema,
        examples: {
          sent: {
            action: 'pay_under',
            network: 'mynet',
            currency: 'USDT',
            transaction_hashes: [`0x${'5e'.repeat(32)}`],
          },
        },
      },
      errors: ['missing_parameter', 'invalid_parameter', 'session_not_found', 'simulation_refused'],
    },
    async run({ caller, params, body }) {
      const session = await findSession(deps, caller, params.session_id ?? '');
      const { action, network, currency } = check(bodySchema, body);
      const wish = { network: network ?? undefined, currency: currency ?? undefined };
      const option = simulatedOption(session, wish);
      if (!option) {
        const isNetwork = network != null && !session.options.some((one) => one.network === network);
        throw badParam(isNetwork ? 'network' : 'currency', 'is not among the session’s payment options');
      }
      try {
        const hashes = await simulate(session, option, action);
        return { body: { action, network: option.network, currency: option.currency, transaction_hashes: hashes } };
      } catch (error) {
        if (error instanceof Fault) throw refuse('simulation_refused', { message: error.message });
        throw error;
      }
    },
  };
}
