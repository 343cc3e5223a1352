/** The abilities of a key's store, for a plugin that is about to ask for a payment. */
import * as z from 'zod';
import { STORE_ENDPOINTS_MAX } from '../core/endpoint.ts';
import { invariant } from '../core/fault.ts';
import { formatUnits, MINOR_DECIMALS } from '../core/money.ts';
import { type Currency, currencies } from '../core/transfer.ts';
import { offeredNetworks } from '../database/networks.ts';
import { isoCodes } from '../rates/currencies.ts';
import { type ApiDeps, type Endpoint, endpoint } from './endpoint.ts';
import { examples } from './examples.ts';

const coinAmount = (description: string) => z.string().meta({ description, example: '10000.00' });

const networkSchema = z
  .object({
    network: z.string().meta({ description: 'Name of the network.', example: 'mynet' }),
    title: z.string().meta({ description: 'As people read it.', example: 'My network' }),
    currencies: z.array(z.enum(currencies)).meta({ description: 'The stablecoins that are taken on it.' }),
    available: z.boolean().meta({
      description: 'Whether new sessions offer it now. False while its blocks are not being read.',
    }),
  })
  .meta({ id: 'AccountNetwork', description: 'A network of the key’s mode.' });

const limitsSchema = z
  .object({
    requests_per_second: z.int().meta({ description: 'Requests a second with one API key.' }),
    refund_daily: coinAmount('What the store may refund in a UTC day.'),
    refund_automatic: coinAmount('What one session, address or key gets refunded in 24 hours without an approval.'),
    refund_window: z.int().meta({ description: 'How long after the payment it can be refunded, in seconds.' }),
    webhook_endpoints: z.int().meta({ description: 'How many webhook endpoints the store may have.' }),
  })
  .meta({ id: 'AccountLimits', description: 'Limits that the operator or the store has set.' });

const accountSchema = z
  .object({
    object: z.literal('account').meta({ description: 'Always `account`.' }),
    merchant_id: z.string().meta({ description: 'The merchant of the API key.' }),
    name: z.string().meta({ description: 'The store’s name.' }),
    mode: z.enum(['live', 'test']).meta({ description: 'The mode of the API key.' }),
    scopes: z.array(z.string()).meta({ description: 'What the API key may do.' }),
    settlement_currency: z
      .enum(currencies)
      .meta({ description: 'The stablecoin to which other prices are converted.' }),
    currencies: z.array(z.string()).meta({
      description: 'In which a session can be priced. The rate of one may be missing for a short time.',
    }),
    networks: z.array(networkSchema).meta({ description: 'Where payments are taken.' }),
    limits: limitsSchema,
  })
  .meta({ id: 'Account' });

/** Returns the codes in which sessions can be priced: those at par first, then those that a source quotes. */
const pricedIn = ({ rates }: Pick<ApiDeps, 'rates'>, target: Currency): string[] => [
  'USD',
  ...currencies,
  ...isoCodes.filter((code) => code !== 'USD' && rates.quote(code, target).kind !== 'unsupported').sort(),
];

const decimal = (minor: number): string => formatUnits(BigInt(minor), MINOR_DECIMALS, MINOR_DECIMALS);

export const accountEndpoint = (deps: ApiDeps): Endpoint =>
  endpoint({
    method: 'get',
    path: '/api/v1/account',
    scope: 'sessions:read',
    operationId: 'getAccount',
    tag: 'Account',
    summary: 'Read the account',
    description:
      'Returns the store and mode of the key, the currencies and networks that a session can offer, and the limits that hold.',
    answer: [accountSchema, examples.account],
    async run({ caller }) {
      const { database, config, clock } = deps;
      const { storeId, mode, scopes } = caller;
      const store = await database.stores.find(storeId);
      invariant(store, `key of store ${storeId} has a store`);
      const { settlementCurrency } = store.settings;
      const offered = offeredNetworks(await database.networks.list(), clock.nowMs());
      const policy = await database.stores.values(storeId);
      const body: z.infer<typeof accountSchema> = {
        object: 'account',
        merchant_id: storeId,
        name: store.name,
        mode,
        scopes: [...scopes],
        settlement_currency: settlementCurrency,
        currencies: pricedIn(deps, settlementCurrency),
        networks: config.networks
          .filter((network) => network.mode === mode)
          .map(({ key, name, title, tokens }) => ({
            network: name,
            title,
            currencies: tokens.map(({ symbol }) => symbol),
            available: offered.has(key),
          })),
        limits: {
          requests_per_second: config.limits.requestsPerSecondPerKey,
          refund_daily: decimal(policy.refundDailyMinor),
          refund_automatic: decimal(policy.refundAutoMinor),
          refund_window: policy.refundWindowS,
          webhook_endpoints: STORE_ENDPOINTS_MAX,
        },
      };
      return { body };
    },
  });
