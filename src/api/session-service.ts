/**
 * Sessions for the API, whatever the shape of the request: create (with which ways to pay, at which rate),
 * find, cancel.
 */
import type { NetworkConfig } from '../config/network.ts';
import { usualDepth } from '../core/credit-policy.ts';
import type { DoorSession } from '../core/door.ts';
import { minorToPar, parToUnitsCeil } from '../core/money.ts';
import { convertMinor } from '../core/rate.ts';
import { policyFor } from '../core/store-credit.ts';
import { type Currency, currencies, otherMode, type Token } from '../core/transfer.ts';
import type { Conversion, PaymentOption } from '../database/column-values.ts';
import type { Replay } from '../database/replays.ts';
import type { Session } from '../database/session.ts';
import type { NewSession } from '../database/sessions.ts';
import { newSessionId } from '../lib/id.ts';
import { exponentOf } from '../rates/currencies.ts';
import type { ApiDeps, Call, Caller } from './endpoint.ts';
import { type ErrorCode, Refusal, refuse } from './errors.ts';
import { replayOf } from './json.ts';
import { badParam, check } from './parameter.ts';
import { createSessionSchema, EXPIRES_IN_S_DEFAULT, readSessionInput, type SessionInput } from './session-input.ts';

/** The errors of creating a session, besides those of every call with a body. */
export const createErrors: readonly ErrorCode[] = [
  'unsupported_currency',
  'order_id_conflict',
  'exchange_rate_unavailable',
  'no_payment_option',
  'no_network_followed',
  'address_pool_empty',
  'store_suspended',
];

/** The mark of a repeated request, besides its body. */
type ReplayOf = Pick<Replay, 'idempotencyKey' | 'path'> & Pick<NewSession, 'act'>;

type Owner = Pick<Caller, 'storeId' | 'mode'>;
type Seller = Owner & Pick<Caller, 'settings'>;
type Creating = Pick<ApiDeps, 'config' | 'rates' | 'database' | 'log' | 'clock' | 'checkWebhookUrl'>;

/** A session, and whether an earlier identical request had the same result. */
type Kept = Readonly<{ session: Session; replayed: boolean }>;

/** A price, and what it may be paid in. */
type Priced = Readonly<{ request: Price; only: SessionInput['only'] }>;
type Price = Pick<SessionInput['request'], 'amountMinor' | 'currency'>;

type Offer = Pick<NewSession, 'conversion' | 'duePar' | 'accepts' | 'options' | 'inclusionGraceS' | 'reorgDepthsMax'>;

const nothing: Offer = {
  conversion: null,
  duePar: 0n,
  accepts: [],
  options: [],
  inclusionGraceS: {},
  reorgDepthsMax: {},
};

/** One cent of these currencies is one cent of a stablecoin. */
const parCurrencies: readonly string[] = ['USD', ...currencies];

/**
 * Creates a session, or returns the one that the same request created before.
 * @throws Refusal; Fault `storage_unavailable`
 */
export async function createSession(
  deps: Creating,
  caller: Seller,
  input: SessionInput,
  how: ReplayOf & Partial<Pick<Call, 'takeNonce'>>,
): Promise<Kept> {
  await checkWebhookUrl(deps, caller, input.request.webhookUrl);
  const nowMs = deps.clock.nowMs();
  const offer = makeOffer(deps, caller, input);
  // A refusal goes to the database too: the same request may have created a session before, when it was possible.
  const outcome = await deps.database.sessions.create({
    id: newSessionId(nowMs),
    storeId: caller.storeId,
    mode: caller.mode,
    request: input.request,
    ...(offer instanceof Refusal ? nothing : offer),
    expiresInS: input.expiresInS,
    doorOrder: input.doorOrder,
    replay: replayOf(how, input),
    nonce: how.takeNonce?.() ?? null,
    nowMs,
    act: how.act,
  });
  switch (outcome.kind) {
    case 'created':
    case 'replayed':
      return { session: outcome.session, replayed: outcome.kind === 'replayed' };
    case 'no_network_followed':
    case 'address_pool_empty':
      throw offer instanceof Refusal ? offer : refuse(outcome.kind);
    default:
      throw refuse(outcome.kind);
  }
}

/** Why something is refused to a caller within this program: in English, and by the API's code. */
type Refused = Readonly<{ refusal: string; code: ErrorCode }>;

/** Returns what `work` does, or why the API refuses it. */
export async function orRefused<T>(work: () => Promise<T>): Promise<T | Refused> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal) return { refusal: error.message, code: error.code };
    throw error;
  }
}

const sellerOf = async ({ database }: Creating, owner: Owner): Promise<Seller> => ({
  ...owner,
  settings: await database.stores.values(owner.storeId),
});

/** Creates a session as the API does, for a person. */
export const createPayment = (
  deps: Creating,
  owner: Owner,
  { amountMinor, currency, orderId }: Readonly<{ amountMinor: bigint; currency: string; orderId: string }>,
  replay: ReplayOf,
): Promise<Readonly<{ id: string }> | Refused> =>
  orRefused(async () => {
    const body = check(createSessionSchema, { amount: Number(amountMinor), currency, order_id: orderId });
    const input = readSessionInput(body, owner.mode);
    const { session } = await createSession(deps, await sellerOf(deps, owner), input, replay);
    return { id: session.id };
  });

/** Creates the session of a door's order, or returns the one that is open or paid. */
export const createForDoor = (
  deps: Creating,
  owner: Owner,
  { id, orderId, name, amountMinor, currency, only, returnUrl }: DoorSession,
): Promise<Readonly<{ session: Session }> | Refused> =>
  orRefused(async () => {
    const order = { orderId, amountMinor, currency, description: name, successUrl: returnUrl, cancelUrl: returnUrl };
    const none = { lineItems: null, taxMinor: null, shippingMinor: null, metadata: null, webhookUrl: null };
    const input = { request: { ...order, ...none }, expiresInS: EXPIRES_IN_S_DEFAULT, only, doorOrder: id };
    return createSession(deps, await sellerOf(deps, owner), input, { idempotencyKey: null, path: '' });
  });

/** @throws Refusal `invalid_parameter` if a session must not name this URL */
async function checkWebhookUrl(deps: Creating, { storeId, mode }: Owner, url: string | null): Promise<void> {
  if (url === null) return;
  const objection = await deps.checkWebhookUrl(url, mode);
  const isOther =
    objection === null && (await deps.database.endpoints.findOfOtherMode({ storeId, mode, url })) !== null;
  const message = isOther
    ? `webhook_url is an endpoint of ${otherMode(mode)} mode, which never receives events of ${mode} mode. Name another URL.`
    : objection;
  if (message !== null) throw refuse('invalid_parameter', { param: 'webhook_url', message });
}

/**
 * Returns the caller's session.
 * @throws Refusal `session_not_found`, also for a session of another merchant or mode
 */
export async function findSession(
  { database }: Pick<ApiDeps, 'database'>,
  { storeId, mode }: Owner,
  id: string,
): Promise<Session> {
  const session = await database.sessions.find(id);
  if (session?.storeId !== storeId || session.mode !== mode) throw refuse('session_not_found');
  return session;
}

/**
 * Cancels the caller's session if no money was seen for it.
 * @throws Refusal
 */
export async function cancelSession(
  { database, clock }: Pick<ApiDeps, 'database' | 'clock'>,
  call: Pick<Call, 'caller' | 'id' | 'path' | 'idempotencyKey'>,
): Promise<Kept> {
  const { id, caller } = call;
  const { storeId, mode } = caller;
  const outcome = await database.sessions.cancel({
    id,
    storeId,
    mode,
    replay: replayOf(call, {}),
    nowMs: clock.nowMs(),
  });
  if (outcome.kind === 'done' || outcome.kind === 'replayed') {
    return { session: outcome.session, replayed: outcome.kind === 'replayed' };
  }
  if (outcome.kind === 'refused') throw refuse(outcome.why);
  throw refuse(outcome.kind === 'not_found' ? 'session_not_found' : outcome.kind);
}

/** Returns the ways to pay and the amount due, or the reason why there are none. */
export function makeOffer(
  deps: Pick<ApiDeps, 'config' | 'rates' | 'log'>,
  caller: Seller,
  { request, only }: Priced,
): Offer | Refusal {
  const own = currencies.find((currency) => currency === request.currency);
  const networks = deps.config.networks.filter(({ mode }) => mode === caller.mode);
  const tokens = networks
    .flatMap((network) => network.tokens.map((token) => ({ network, token })))
    .filter(({ token }) => !own || token.symbol === own)
    .filter(({ network }) => only.network === null || only.network === network.name)
    .filter(({ token }) => only.currency === null || only.currency === token.symbol);
  // If the mode has no networks at all, the database answers that no address is free.
  if (tokens.length === 0 && networks.length > 0) {
    return badParam('currency', `${request.currency} cannot be paid on any enabled network`, 'unsupported_currency');
  }
  // A price in a stablecoin is paid in it, whatever it is worth.
  const accepts = own ? [own] : acceptedAtPar(deps.rates);
  const offered = tokens.filter(({ token }) => accepts.includes(token.symbol));
  const [first] = accepts;
  if (first === undefined || (offered.length === 0 && networks.length > 0)) return refuse('no_payment_option');

  const { settlementCurrency, credit } = caller.settings;
  const isPar = parCurrencies.includes(request.currency);
  const conversion = isPar ? null : convert(deps, settlementCurrency, request, accepts);
  if (conversion instanceof Refusal) return conversion;
  const duePar = minorToPar(conversion ? conversion.amountMinor : request.amountMinor);
  return {
    conversion,
    duePar,
    accepts,
    options: offered.map(({ network, token }) => optionOf(network, token, duePar, credit)),
    inclusionGraceS: Object.fromEntries(networks.map((network) => [network.key, network.inclusionGraceS])),
    reorgDepthsMax: Object.fromEntries(networks.map((network) => [network.key, network.reorgDepthMax])),
  };
}

/** Returns the stablecoins that are worth a dollar, near enough to be taken for one. */
const acceptedAtPar = (rates: ApiDeps['rates']): readonly Currency[] => {
  const off = rates.pegs().filter(({ isOff }) => isOff);
  return currencies.filter((currency) => !off.some((peg) => peg.currency === currency));
};

/**
 * Locks a rate to the store's settlement currency, or to another coin if that one is not accepted now. Amounts are
 * computed from the text of the rate, as it is shown.
 */
function convert(
  { rates, log }: Pick<ApiDeps, 'rates' | 'log'>,
  settlementCurrency: Currency,
  { currency, amountMinor }: Price,
  accepts: readonly Currency[],
): Conversion | Refusal {
  const target = accepts.find((currency) => currency === settlementCurrency) ?? accepts[0] ?? settlementCurrency;
  const exponent = exponentOf(currency);
  const quote = rates.quote(currency, target);
  if (exponent === null || quote.kind === 'unsupported') return refuse('unsupported_currency', { param: 'currency' });
  if (quote.kind === 'unavailable') {
    log.warn({ currency, target, why: quote.why }, 'no exchange rate');
    return refuse('exchange_rate_unavailable');
  }
  const converted = convertMinor(amountMinor, exponent, quote.rate);
  if (converted > BigInt(Number.MAX_SAFE_INTEGER)) {
    return badParam('amount', `is too large: converted to ${target} it exceeds the range of exact integers`);
  }
  return { rate: quote.rate, currency: target, amountMinor: converted, sources: quote.sources };
}

/** Returns the way to pay with a token of a network, at the credit policy that the store asks for. */
export function optionOf(network: NetworkConfig, token: Token, duePar: bigint, credit: string): PaymentOption {
  return {
    network: network.name,
    networkKey: network.key,
    family: network.family,
    chainId: network.chainId,
    currency: token.symbol,
    token: token.address,
    decimals: token.decimals,
    units: parToUnitsCeil(duePar, token.decimals),
    confirmationsRequired: usualDepth(policyFor(network, credit), duePar),
  };
}
