/**
 * Writes the mails to people about their own accounts, in their language and time zone.
 * @module
 */
import type { AccountEvent, AccountNews } from '../core/person-mail.ts';
import type { NewMail } from '../database/mails.ts';
import { readLanguages } from '../lib/words.ts';
import { timeIn, UTC } from '../lib/zone.ts';
import type english from './texts/en.json';

const languages = readLanguages<keyof typeof english>(new URL('./texts/', import.meta.url));

/** Returns the text about what somebody can do who did not do it. */
const adviceOn = ({ kind }: AccountEvent): keyof typeof english =>
  kind === 'link_made' ? 'advice_link' : kind === 'code' ? 'advice_code' : 'advice';

export function accountMail({ name, language, zone, event, atMs }: AccountNews): Pick<NewMail, 'subject' | 'text'> {
  const { say } = languages.choose(language, undefined);
  const values = { ...event, name, command: 'quayside user reset' };
  const at = `${timeIn(zone ?? UTC, atMs)} ${zone ?? UTC}`;
  const text = [at, say(`${event.kind}_text`, values), say(adviceOn(event), values)].join('\n\n');
  return { subject: say(`${event.kind}_subject`, values), text: `${text}\n` };
}
