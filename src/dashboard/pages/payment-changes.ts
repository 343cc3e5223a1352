/**
 * What people do about one payment: cancel it while it is open, write notes.
 */
import { NOTE_CHARS_MAX, PAYMENT_NOTES_MAX } from '../../database/payment-notes.ts';
import { html } from '../../lib/html.ts';
import { type Planned, storeChange } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { idOfForm } from '../once.ts';
import type { StoreAt, StorePage, Visit } from '../page.ts';
import { findPayment, showPayment } from './payment.ts';
import { paymentPath } from './payments.ts';

type PlanOf = (deps: DashboardDeps, visit: Visit<StoreAt>) => Promise<Planned>;

export const paymentChanges = (deps: DashboardDeps): readonly StorePage[] =>
  (
    [
      ['cancel', planCancel],
      ['notes', planNote],
      ['notes/:note/remove', planRemoval],
    ] as const
  ).map(([act, planOf]) =>
    storeChange(deps, {
      path: `/s/:store/:mode/payments/:id/${act}`,
      needs: 'payments:manage',
      plan: (visit) => planOf(deps, visit),
    }),
  );

const planCancel: PlanOf = async (deps, visit) => {
  const session = await findPayment(deps, visit);
  if (!session) return null;
  const { at, form, visitor, nowMs, words } = visit;
  const { id, request } = session;
  const replay = { idempotencyKey: idOfForm(visitor, form.once, nowMs), path: `dashboard: cancel ${id}`, bodyHash: '' };
  return {
    command: 'cancel payment',
    target: id,
    review: {
      title: words.say('payment-changes.cancel_title', { order: request.orderId }),
      consequence: html`<p>${words.say('payment-changes.cancel_text')}</p>`,
      button: words.say('payment-changes.cancel_button'),
      back: paymentPath(at, session),
      needsSudo: false,
      isDangerous: true,
    },
    async act(database) {
      const done = await database.sessions.cancel({ id, ...at, replay, nowMs });
      if (done.kind === 'not_found') return null;
      if (done.kind === 'done' || done.kind === 'replayed')
        return { to: paymentPath(at, session), said: words.say('payment-changes.canceled') };
      const why = done.kind === 'refused' ? done.why : 'session_not_cancelable';
      const now = (await findPayment(deps, visit)) ?? session;
      return showPayment(deps, visit, now, words.say(`payment-changes.${why}`));
    },
  };
};

const planNote: PlanOf = async (deps, visit) => {
  const session = await findPayment(deps, visit);
  if (!session) return null;
  const { at, form, words } = visit;
  const again = (fault: string) => showPayment(deps, visit, session, fault);
  const text = (form.note ?? '').trim();
  if (text === '' || text.length > NOTE_CHARS_MAX)
    return again(words.say('payment-notes.length', { max: NOTE_CHARS_MAX }));
  return {
    command: 'add note',
    target: session.id,
    review: null,
    async act(database, act) {
      const done = await database.sessions.addNote({ sessionId: session.id, text }, act);
      if (done === 'full') return again(words.say('payment-notes.full', { max: PAYMENT_NOTES_MAX }));
      return done && { to: paymentPath(at, session), said: words.say('payment-notes.added') };
    },
  };
};

const planRemoval: PlanOf = async (deps, visit) => {
  const session = await findPayment(deps, visit);
  const { at, params, words } = visit;
  if (!session || !/^\d{1,15}$/.test(params.note ?? '')) return null;
  return {
    command: 'remove note',
    target: session.id,
    review: null,
    async act(database, act) {
      const note = { sessionId: session.id, id: Number(params.note) };
      const isRemoved = await database.sessions.removeNote(note, act);
      return isRemoved ? { to: paymentPath(at, session), said: words.say('payment-notes.removed') } : null;
    },
  };
};
