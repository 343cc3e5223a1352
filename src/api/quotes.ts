/** Prices of an amount in each coin now, without a session. */
import * as z from 'zod';
import { formatUnits, MINOR_DECIMALS } from '../core/money.ts';
import { offeredNetworks } from '../database/networks.ts';
import { toSeconds } from '../lib/clock.ts';
import { type ApiDeps, type Endpoint, endpoint } from './endpoint.ts';
import { Refusal, refuse } from './errors.ts';
import { examples } from './examples.ts';
import { anyOption, createSessionSchema } from './session-input.ts';
import { makeOffer } from './session-service.ts';
import { conversionFields, paymentOptionSchema, paymentSessionSchema } from './session-view.ts';

const bodySchema = z
  .object({
    amount: createSessionSchema.shape.amount.meta({ description: 'The price, in minor units of `currency`.' }),
    currency: createSessionSchema.shape.currency,
  })
  .meta({ id: 'CreateQuote' });

const { network, currency, amount, confirmations_required } = paymentOptionSchema.shape;
const optionSchema = z
  .object({ network, currency, amount, confirmations_required })
  .meta({ id: 'QuoteOption', description: 'What a payer would send in one stablecoin on one network.' });

const { exchange_rate, target_currency, target_amount_total } = paymentSessionSchema.shape;
const answerSchema = z
  .object({
    object: z.literal('quote').meta({ description: 'Always `quote`.' }),
    amount_total: paymentSessionSchema.shape.amount_total,
    currency: paymentSessionSchema.shape.currency,
    exchange_rate: exchange_rate.unwrap().optional().meta({
      description:
        'Stablecoin per unit of `currency`. This field and the next two are present only if the amount was converted.',
      example: '1.08340',
    }),
    target_currency,
    target_amount_total,
    quoted_at: z
      .int()
      .meta({ description: 'Unix seconds. A session that is created later has the rate of that time.' }),
    options: z.array(optionSchema).meta({ description: 'Each network and stablecoin that a session would offer now.' }),
  })
  .meta({ id: 'Quote' });

export const quoteEndpoint = (deps: ApiDeps): Endpoint =>
  endpoint({
    method: 'post',
    path: '/api/v1/checkout/quotes',
    scope: 'sessions:read',
    isReadOnly: true,
    operationId: 'createQuote',
    tag: 'Payment sessions',
    summary: 'Quote an amount',
    description:
      'Returns what an amount costs in each coin now, as a session that was created now would ask for it. It creates no session and locks no rate.',
    body: [bodySchema, examples.quoteBody],
    answer: [answerSchema, examples.quote],
    errors: ['unsupported_currency', 'exchange_rate_unavailable', 'no_payment_option', 'no_network_followed'],
    async run({ caller, body: price }) {
      const nowMs = deps.clock.nowMs();
      const request = { amountMinor: BigInt(price.amount), currency: price.currency };
      const offer = makeOffer(deps, caller, { request, only: anyOption });
      if (offer instanceof Refusal) throw offer;
      const offered = offeredNetworks(await deps.database.networks.list(), nowMs);
      const options = offer.options.filter(({ networkKey }) => offered.has(networkKey));
      if (options.length === 0) throw refuse('no_network_followed');
      const quote: z.infer<typeof answerSchema> = {
        object: 'quote',
        amount_total: price.amount,
        currency: price.currency,
        ...conversionFields(offer.conversion),
        quoted_at: toSeconds(nowMs),
        options: options.map((option) => ({
          network: option.network,
          currency: option.currency,
          amount: formatUnits(option.units, option.decimals, MINOR_DECIMALS),
          confirmations_required: option.confirmationsRequired,
        })),
      };
      return { body: quote };
    },
  });
