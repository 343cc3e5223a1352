/**
 * Notes about a payment, for the store's people: as its page shows them. `payment-changes.ts` saves and removes them.
 */
import type { Session } from '../../database/database.ts';
import { NOTE_CHARS_MAX, type PaymentNote } from '../../database/payment-notes.ts';
import { type Html, html } from '../../lib/html.ts';
import { changeFields } from '../change.ts';
import type { StoreAt, Visit } from '../page.ts';
import { data, time } from '../show.ts';
import { paymentPath } from './payments.ts';

/** Renders the notes of a payment, with the forms for who may write. */
export function noteSection(
  visit: Visit<StoreAt>,
  session: Session,
  notes: readonly PaymentNote[],
  mayWrite: boolean,
): Html | null {
  const { at, form, words } = visit;
  if (notes.length === 0 && !mayWrite) return null;
  const path = `${paymentPath(at, session)}/notes`;
  const removal = ({ id, atMs }: PaymentNote) => {
    const label = words.say('general.act_on', {
      act: words.say('general.remove'),
      name: new Date(atMs).toISOString().slice(0, 19).replace('T', ' '),
    });
    return html`<form method="post" action="${path}/${id}/remove">${changeFields(visit)}<button class="plain small" aria-label="${label}">${words.say('general.remove')}</button></form>`;
  };
  const written = notes.map(
    (note) =>
      html`<li>${time(note.atMs)} <div><p class="note">${data(note.text)}</p><p class="hint">${data(note.author)}</p>${mayWrite ? removal(note) : null}</div></li>`,
  );
  const writing = html`<form method="post" action="${path}">${changeFields(visit)}
<label>${words.say('payment-notes.new')} <textarea name="note" rows="2" maxlength="${NOTE_CHARS_MAX}" required>${form.note ?? ''}</textarea></label>
<button class="plain">${words.say('payment-notes.add')}</button></form>`;
  return html`<section class="card" aria-labelledby="notes"><h2 id="notes">${words.say('payment-notes.title')}</h2>
<p class="hint">${words.say('payment-notes.hint')}</p>${notes.length === 0 ? null : html`<ol class="history">${written}</ol>`}${mayWrite ? writing : null}</section>`;
}
