/**
 * The texts of the dashboard: `texts/<language>/<page>.json`. A key is the name of its file and its own:
 * `sign-in.title`. Pages of the operator have English texts only.
 */
import type { Response } from 'express';
import { queryOf } from '../lib/form.ts';
import { type Languages as LanguagesOf, readLanguages, type Words as WordsOf } from '../lib/words.ts';
import type account from './texts/en/account.json';
import type accountFactors from './texts/en/account-factors.json';
import type acts from './texts/en/acts.json';
import type change from './texts/en/change.json';
import type developers from './texts/en/developers.json';
import type frame from './texts/en/frame.json';
import type general from './texts/en/general.json';
import type held from './texts/en/held.json';
import type link from './texts/en/link.json';
import type overview from './texts/en/overview.json';
import type passkeys from './texts/en/passkeys.json';
import type passwords from './texts/en/passwords.json';
import type payment from './texts/en/payment.json';
import type paymentChanges from './texts/en/payment-changes.json';
import type payments from './texts/en/payments.json';
import type refundApprovals from './texts/en/refund-approvals.json';
import type refundChanges from './texts/en/refund-changes.json';
import type refunds from './texts/en/refunds.json';
import type refusal from './texts/en/refusal.json';
import type setup from './texts/en/setup.json';
import type signIn from './texts/en/sign-in.json';
import type store from './texts/en/store.json';
import type storeLogo from './texts/en/store-logo.json';
import type team from './texts/en/team.json';
import type transfers from './texts/en/transfers.json';
import type webhookChanges from './texts/en/webhook-changes.json';
import type webhooks from './texts/en/webhooks.json';

type English = Readonly<{
  account: typeof account;
  'account-factors': typeof accountFactors;
  acts: typeof acts;
  change: typeof change;
  developers: typeof developers;
  frame: typeof frame;
  general: typeof general;
  held: typeof held;
  link: typeof link;
  overview: typeof overview;
  passkeys: typeof passkeys;
  passwords: typeof passwords;
  payment: typeof payment;
  'payment-changes': typeof paymentChanges;
  payments: typeof payments;
  'refund-approvals': typeof refundApprovals;
  'refund-changes': typeof refundChanges;
  refunds: typeof refunds;
  refusal: typeof refusal;
  setup: typeof setup;
  'sign-in': typeof signIn;
  store: typeof store;
  'store-logo': typeof storeLogo;
  team: typeof team;
  transfers: typeof transfers;
  'webhook-changes': typeof webhookChanges;
  webhooks: typeof webhooks;
}>;

export type TextKey = { [Page in keyof English]: `${Page}.${keyof English[Page] & string}` }[keyof English];

/** One language. */
export type Words = WordsOf<TextKey>;

export type Languages = LanguagesOf<TextKey>;

/** The language of the operator's pages. */
export const OPERATOR_LANGUAGE = 'en';

export const languages: Languages = readLanguages(new URL('./texts/', import.meta.url));

/** Remembers for the answer to this request which language its person has chosen. */
export const setLanguage = (response: Response, code: string | null): void => {
  response.locals.language = code;
};

/** Returns the language of an answer: the person's own, else the one that the address names, else the browser's. */
export function wordsFor(all: Languages, response: Response): Words {
  const { req: request, locals } = response;
  const own = typeof locals.language === 'string' ? locals.language : null;
  return all.choose(own ?? queryOf(request).get('lang'), request.get('Accept-Language'));
}

/** Returns the language that the address names; null if it names none, or one that there is not. */
export function chosenLanguage(all: Languages, { req: request }: Response): string | null {
  const code = queryOf(request).get('lang');
  return all.all.some((words) => words.code === code) ? code : null;
}
