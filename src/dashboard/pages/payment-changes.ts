/** Cancelling a payment while it is open. */
import { html } from '../../lib/html.ts';
import { type Planned, storeChange } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { idOfForm } from '../once.ts';
import type { StoreAt, StorePage, Visit } from '../page.ts';
import { findPayment, showPayment } from './payment.ts';
import { paymentPath } from './payments.ts';

export const paymentChanges = (deps: DashboardDeps): StorePage =>
  storeChange(deps, {
    path: '/s/:store/:mode/payments/:id/cancel',
    needs: 'payments:manage',
    plan: (visit) => planCancel(deps, visit),
  });

async function planCancel(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
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
}
