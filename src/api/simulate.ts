/**
 * The endpoint that simulates payments in the sandbox. It exists only if there are simulated networks.
 */
import * as z from 'zod';
import { Fault } from '../core/fault.ts';
import { currencies } from '../core/transfer.ts';
import { type Simulate, simulatedOption, simulations } from '../payments/simulation.ts';
import type { Answer, ApiDeps, Endpoint } from './endpoint.ts';
import { refuse } from './errors.ts';
import { meaningHash } from './json.ts';
import { badParam, check } from './parameter.ts';
import { findSession } from './session-service.ts';

/** How many idempotency keys are kept. */
const KEYS_MAX = 1000;

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

export function simulationEndpoint(deps: ApiDeps, simulate: Simulate): Endpoint {
  const once = createPlayed();
  return {
    method: 'post',
    path: '/api/v1/test/sessions/{session_id}/simulate',
    scope: 'sessions:write',
    doc: {
      operationId: 'simulate',
      tag: 'Sandbox',
      summary: 'Simulate a payment',
      description:
        'Simulates a payment or another event on the session’s simulated network. The effects are real: the session changes and webhooks are sent.',
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
      errors: [
        'missing_parameter',
        'invalid_parameter',
        'session_not_found',
        'simulation_refused',
        'idempotency_key_conflict',
      ],
    },
    async run({ caller, params, body, idempotencyKey }) {
      const session = await findSession(deps, caller, params.session_id ?? '');
      const { action, network, currency } = check(bodySchema, body);
      const wish = { network: network ?? undefined, currency: currency ?? undefined };
      const option = simulatedOption(session, wish);
      if (!option) {
        const isNetwork = network != null && !session.options.some((one) => one.network === network);
        throw badParam(isNetwork ? 'network' : 'currency', 'is not among the session’s payment options');
      }
      const play = async () => {
        const transaction_hashes = await simulate(session, option, action);
        return { action, network: option.network, currency: option.currency, transaction_hashes };
      };
      try {
        if (idempotencyKey === null) return { body: await play() };
        return await once(JSON.stringify([session.id, idempotencyKey]), meaningHash([action, wish]), play);
      } catch (error) {
        if (error instanceof Fault) throw refuse('simulation_refused', { message: error.message });
        throw error;
      }
    },
  };
}

/**
 * Keeps the answers of the newest simulations by idempotency key. In memory, unlike those of other calls: no real money
 * is involved, and a sandbox that was restarted may simulate a payment again.
 * @returns what simulates, or returns the answer to the first call with this key. It throws a Refusal if that had
 * another body.
 */
function createPlayed() {
  const past = new Map<string, Readonly<{ bodyHash: string; body: Promise<object> }>>();
  return async (key: string, bodyHash: string, play: () => Promise<object>): Promise<Answer> => {
    const known = past.get(key);
    if (known && known.bodyHash !== bodyHash) throw refuse('idempotency_key_conflict');
    if (known) return { body: await known.body, replayed: true };
    const body = play();
    past.set(key, { bodyHash, body });
    if (past.size > KEYS_MAX) past.delete(past.keys().next().value ?? '');
    // Only successes are kept.
    body.catch(() => past.delete(key));
    return { body: await body };
  };
}
