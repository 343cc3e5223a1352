/**
 * Writes the mails to people about their own accounts and stores, in their language and time zone.
 * @module
 */
import { plainLine } from '../core/excerpt.ts';
import type { AccountEvent, AccountNews } from '../core/person-mail.ts';
import type { NewMail } from '../database/mails.ts';
import { readLanguages } from '../lib/words.ts';
import { timeIn, UTC } from '../lib/zone.ts';
import type english from './texts/en.json';

/** Of the name of a store, and of a reason. */
const TYPED_UNITS_MAX = 200;

const languages = readLanguages<keyof typeof english>(new URL('./texts/', import.meta.url));

/** The texts about what somebody can do who did not do it, where it is not the usual one. */
const advice: Readonly<Partial<Record<AccountEvent['kind'], keyof typeof english>>> = {
  link_made: 'advice_link',
  code: 'advice_code',
  store_approved: 'advice_store',
  store_refused: 'advice_store',
  member_added: 'advice_access',
  operator_added: 'advice_access',
  key_made: 'advice_access',
  key_revoked: 'advice_access',
};

export function accountMail({ name, language, zone, event, atMs }: AccountNews): Pick<NewMail, 'subject' | 'text'> {
  const { say } = languages.choose(language, undefined);
  const given = Object.entries(event).map(([key, text]) => [key, plainLine(text, TYPED_UNITS_MAX)]);
  const values = { ...Object.fromEntries(given), name, command: 'quayside user reset' };
  const at = `${timeIn(zone ?? UTC, atMs)} ${zone ?? UTC}`;
  const text = [at, say(`${event.kind}_text`, values), say(advice[event.kind] ?? 'advice', values)].join('\n\n');
  return { subject: say(`${event.kind}_subject`, values), text: `${text}\n` };
}
