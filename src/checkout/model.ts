/**
 * Everything that the page is rendered from, and the functions on it that several parts share.
 */
import type { NetworkConfig } from '../config/network.ts';
import type { FeeHint } from '../config/schema.ts';
import { type CreditPolicy, usualDepth, waitsForFinality } from '../core/credit-policy.ts';
import { formatUnits, MINOR_DECIMALS, PAR_DECIMALS, parToUnitsCeil, shownUnits, toPar } from '../core/money.ts';
import type { Currency, NetworkKey } from '../core/transfer.ts';
import type { PageSettings, PaymentOption } from '../database/column-values.ts';
import { isFollowed, type NetworkRow } from '../database/networks.ts';
import type { Refund } from '../database/refunds/refund.ts';
import type { Payment, Session } from '../database/session.ts';
import type { Html } from '../lib/html.ts';
import { optionName } from '../payments/option.ts';
import { markOf } from './icon.ts';
import { findOption, type PageState } from './state.ts';
import type { TextKey, Words } from './texts.ts';

/** Choices in the query of the page's URL. They change the view, and never the amount that is due. */
export type Choice = Readonly<{
  /** A way to pay, as `network-CURRENCY`. */
  pay: string | null;
  token: string | null;
  walletQr: boolean;
  /** The origin whose page frames this one. */
  parent: string | null;
  /** The payer has chosen not to be returned to the shop. */
  stays: boolean;
  language: string | null;
  /** The payer's token. Links to third parties never carry it. */
  payerToken: string | null;
}>;

/** A network as it is shown to payers. */
type NetworkView = Readonly<{
  config: NetworkConfig;
  feeText: TextKey | null;
  /** Usual time until a payment of the amount due is confirmed, in seconds. */
  timeS: number;
  isUp: boolean;
}>;

export type PageModel = Readonly<{
  session: Session;
  shop: string;
  /** True while the operator has suspended the shop: it takes no new orders. */
  isSuspended: boolean;
  settings: PageSettings;
  state: PageState;
  /** Keys of the refund addresses that the payer gave, by network. */
  refundAddresses: Readonly<Partial<Record<NetworkKey, string>>>;
  /** The session's refunds, newest first; none for who has no payer's token. */
  refunds: readonly Refund[];
  /** True while the page can still change without the payer. */
  isLive: boolean;
  networks: ReadonlyMap<NetworkKey, NetworkView>;
  choice: Choice;
  words: Words;
  nowMs: number;
  /** Changes whenever the content of the page changes. */
  version: string;
  /** True on a phone or tablet, where links open wallet apps. */
  isHandheld: boolean;
  /** True if the sandbox's panel is shown. */
  canSimulate: boolean;
  /** True if the URL has the payer's token, and not only the session's id. */
  isPayer: boolean;
  /** The page's public URL without a query, for wallets: third parties see it. */
  pageUrl: string;
}>;

const fees: Readonly<Record<FeeHint, TextKey>> = { low: 'fee_low', medium: 'fee_medium', high: 'fee_high' };

/** Joins the configured networks with whether each is being followed now. */
export function networkViews(
  networks: readonly NetworkConfig[],
  reports: readonly NetworkRow[],
  duePar: bigint,
  nowMs: number,
): ReadonlyMap<NetworkKey, NetworkView> {
  const up = new Set(reports.filter((report) => isFollowed(report, nowMs)).map(({ key }) => key));
  return new Map(
    networks.map((config) => {
      const { key, feeHint, confirmations, blockTimeMs } = config;
      const timeS = Math.ceil((usualDepth(confirmations, duePar) * blockTimeMs) / 1000);
      return [key, { config, feeText: feeHint ? fees[feeHint] : null, timeS, isUp: up.has(key) }];
    }),
  );
}

/** Returns a network's title, or the name of one that is no longer configured. */
export const networkTitle = ({ networks }: PageModel, at: Pick<PaymentOption, 'networkKey' | 'network'>): string =>
  networks.get(at.networkKey)?.config.title ?? at.network;

/** Draws the mark of a network. */
export const networkMark = (model: PageModel, at: Pick<PaymentOption, 'networkKey' | 'network'>): Html =>
  markOf(model.networks.get(at.networkKey)?.config.mark, networkTitle(model, at));

/** Draws the mark of a token, which is the same on every network. */
export const tokenMark = ({ networks }: PageModel, currency: Currency): Html => {
  const marks = [...networks.values()].flatMap(({ config }) => config.tokenMarks?.[currency] ?? []);
  return markOf(marks[0], currency);
};

/** False for a network whose follower is silent or faulty, and for one that is no longer configured. */
export const isUp = ({ networks }: PageModel, { networkKey }: Pick<PaymentOption, 'networkKey'>): boolean =>
  networks.get(networkKey)?.isUp ?? false;

export const isSimulated = ({ networks }: PageModel, { networkKey }: Pick<PaymentOption, 'networkKey'>): boolean =>
  networks.get(networkKey)?.config.sandbox ?? false;

/** An unconfirmed payment, and the confirmations that it usually needs. */
export type Progress = Readonly<{ payment: Payment; required: number }>;

/** Returns the payment with the most confirmations to go, or null if none is unconfirmed. */
export function progress(model: PageModel): Progress | null {
  const left = ({ payment, required }: Progress) => required - payment.confirmations;
  return model.session.payments
    .filter(({ state }) => state === 'seen')
    .map((payment) => ({ payment, required: confirmationsRequired(model, payment) }))
    .reduce<Progress | null>((slowest, one) => (slowest && left(slowest) >= left(one) ? slowest : one), null);
}

/** Returns the policy of a payment's network; null if it is no longer configured. */
const policyOf = ({ networks }: PageModel, { networkKey }: Payment): CreditPolicy | null =>
  networks.get(networkKey)?.config.confirmations ?? null;

/**
 * Returns the time until a payment that is not credited usually is, in seconds, and whether its block is final then;
 * null if its network is not being followed, or if nothing but finality is left, which is not counted in blocks.
 */
export function timeLeftOf(
  model: PageModel,
  { payment, required }: Progress,
): Readonly<{ seconds: number; isFinal: boolean }> | null {
  const view = model.networks.get(payment.networkKey);
  const blocks = required - payment.confirmations;
  if (!view?.isUp || blocks <= 0) return null;
  const { config } = view;
  const isFinal = waitsForFinality(config.confirmations, openParOf(model, payment));
  return { seconds: (blocks * config.blockTimeMs) / 1000, isFinal };
}

/** Returns a duration in words, rounded up to minutes. */
export const durationText = ({ words }: PageModel, seconds: number): string =>
  seconds < 60 ? words.say('time_short') : words.say('time_minutes', { minutes: Math.ceil(seconds / 60) });

/** Returns everything on a payment's network that is not final: it is credited as one amount. */
const openParOf = ({ session }: PageModel, { networkKey: own }: Payment): bigint =>
  session.payments
    .filter(({ networkKey, state }) => networkKey === own && (state === 'seen' || state === 'confirmed'))
    .reduce((sum, { units, decimals }) => sum + toPar(units, decimals), 0n);

/**
 * Returns the depth at which a payment usually counts on its network; its current depth if the network is no longer
 * configured.
 */
export function confirmationsRequired(model: PageModel, payment: Payment): number {
  const policy = policyOf(model, payment);
  return policy ? usualDepth(policy, openParOf(model, payment)) : payment.confirmations;
}

/** Whether a payment that is not credited is deep enough, and waits for the network to make its block final. */
export function isBecomingFinal(model: PageModel, payment: Payment): boolean {
  const policy = policyOf(model, payment) ?? [];
  const isDeep = payment.confirmations >= confirmationsRequired(model, payment);
  return payment.state === 'seen' && isDeep && waitsForFinality(policy, openParOf(model, payment));
}

/** Returns the way to pay to show: the selected one, the only one, or the one that the payer has already used. */
export function selectedOption({ session, state, choice }: PageModel): PaymentOption | null {
  const { options, payments } = session;
  const named = findOption(session, choice.pay);
  if (named || options.length === 1) return named ?? options[0] ?? null;
  if (state.kind !== 'underpaid' || choice.token !== null) return null;
  const begun = payments.find(({ state: receipt }) => receipt !== 'orphaned');
  return (begun && findOption(session, optionName(begun))) ?? options[0] ?? null;
}

/** Returns the amount still due, in base units of the option's token. */
export const unitsDue = ({ state }: PageModel, { decimals }: PaymentOption): bigint =>
  parToUnitsCeil(state.leftPar, decimals);

/** Returns the amount still due in the option's token, as decimal text that wallets take. */
export const amountDue = (model: PageModel, option: PaymentOption): string =>
  formatUnits(unitsDue(model, option), option.decimals, MINOR_DECIMALS);

export const parText = (par: bigint): string => shownUnits(par, PAR_DECIMALS);

/** Returns the sums of payments by currency: "4.00 USDT + 2.00 USDC". */
export function sumText(payments: readonly Payment[]): string {
  const sums = new Map<Currency, bigint>();
  for (const { currency, units, decimals } of payments) {
    sums.set(currency, (sums.get(currency) ?? 0n) + toPar(units, decimals));
  }
  return [...sums].map(([currency, par]) => `${parText(par)} ${currency}`).join(' + ');
}

/** Returns the query of this page with a changed choice. It is relative, so it works behind any proxy. */
export function linkTo({ choice }: PageModel, change: Partial<Choice>): string {
  const { pay, token, walletQr, parent, stays, language, payerToken } = { ...choice, ...change };
  const query = new URLSearchParams();
  if (payerToken !== null) query.set('k', payerToken);
  if (pay !== null) query.set('pay', pay);
  if (token !== null) query.set('token', token);
  if (walletQr) query.set('qr', 'wallet');
  if (parent !== null) query.set('parent', parent);
  if (stays) query.set('stay', '1');
  if (language !== null) query.set('lang', language);
  return `?${query}`;
}
