/**
 * The mail address of the person who is signed in: proved by the code that arrived there. What happens to the account
 * is told there; nothing is reset by mail.
 * @module
 */
import { randomInt } from 'node:crypto';
import { type Html, html } from '../../lib/html.ts';
import { isMailAddress, MAIL_ADDRESS_CHARS_MAX } from '../../lib/mail-server.ts';
import { changeFields, commonChange, type Planned } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { badge, data, facts } from '../show.ts';

const PATH = '/account/mail';
const CODES = 100_000_000;
const CODE_DIGITS = 8;

/** Shows the account page again, with what is wrong. */
type Back = (visit: Visit<null>, fault: string) => Promise<Reply>;

export const accountMailPages = (deps: DashboardDeps, back: Back): readonly CommonPage[] => [
  commonChange(deps, { path: PATH, needs: 'to be signed in', plan: (visit) => planAddress(deps, visit, back) }),
  commonChange(deps, {
    path: `${PATH}/prove`,
    needs: 'to be signed in',
    plan: async (visit) => planProof(visit, back),
  }),
  commonChange(deps, { path: `${PATH}/remove`, needs: 'to be signed in', plan: async (visit) => planRemoval(visit) }),
];

/** Shows the address, and the forms to prove, change and remove it. */
export async function mailSection({ database, config }: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const { visitor, form, words } = visit;
  const { address, nextAddress } = await database.findPersonMail(visitor.person.id);
  const isKnown = address !== null || nextAddress !== null;
  const field = (label: string) =>
    html`<label>${label} <input name="address" type="email" value="${form.address ?? ''}" maxlength="${MAIL_ADDRESS_CHARS_MAX}" autocomplete="email" required></label>`;
  return html`<section class="card" aria-labelledby="mail"><h2 id="mail">${words.say('account-mail.title')}</h2>
<p class="hint">${words.say('account-mail.text')}</p>
${
  isKnown
    ? facts([
        ...(address === null
          ? []
          : [
              [
                words.say('account-mail.address'),
                html`${data(address)} ${badge(words.say('account-mail.proved'), 'good')}`,
              ] as const,
            ]),
        ...(nextAddress === null
          ? []
          : [
              [
                words.say('account-mail.next'),
                html`${data(nextAddress)} ${badge(words.say('account-mail.waits'), 'attention')}`,
              ] as const,
            ]),
      ])
    : null
}
${
  nextAddress === null
    ? null
    : html`<form method="post" action="${PATH}/prove">${changeFields(visit)}<label>${words.html('account-mail.code', { address: nextAddress })}
<input name="proof" inputmode="numeric" autocomplete="off" maxlength="12" required></label><button>${words.say('account-mail.prove')}</button></form>`
}
${
  config.mail === null
    ? html`<p class="hint">${words.html('account-mail.no_server')}</p>`
    : html`<form method="post" action="${PATH}">${changeFields(visit)}${field(words.say(isKnown ? 'account-mail.another' : 'account-mail.your'))}<button class="plain">${words.say('account-mail.send')}</button></form>`
}
${isKnown ? html`<form method="post" action="${PATH}/remove">${changeFields(visit)}<button class="plain">${words.say('account-mail.remove')}</button></form>` : null}</section>`;
}

async function planAddress({ config }: DashboardDeps, visit: Visit<null>, back: Back): Promise<Planned> {
  const { visitor, form, words } = visit;
  const { person } = visitor;
  const address = (form.address ?? '').trim();
  if (config.mail === null) return null;
  if (!isMailAddress(address)) return back(visit, words.say('account-mail.no_mail', { address }));
  return {
    command: 'change mail address',
    target: person.id,
    review: {
      title: words.say('account-mail.ask_title', { address }),
      consequence: html`<p>${words.say('account-mail.ask_text')}</p>`,
      button: words.say('account-mail.ask_button'),
      back: '/account',
      // Whoever steals a session must not be able to redirect what would report the theft.
      needsSudo: true,
    },
    async act(database, act) {
      const code = String(randomInt(CODES)).padStart(CODE_DIGITS, '0');
      const isAsked = await database.askPersonMail({ personId: person.id, address, code, language: words.code }, act);
      return isAsked
        ? { to: '/account', said: words.say('account-mail.asked', { address }) }
        : back(visit, words.say('account-mail.too_many'));
    },
  };
}

function planProof(visit: Visit<null>, back: Back): Planned {
  const {
    visitor: { person },
    words,
  } = visit;
  return {
    command: 'prove mail address',
    target: person.id,
    review: null,
    async act(database, act) {
      const proved = await database.provePersonMail(person.id, (visit.form.proof ?? '').replace(/\s/g, ''), act);
      if (proved === 'proved') return { to: '/account', said: words.say('account-mail.confirmed') };
      if (proved === null) return null;
      return back(visit, words.say(proved === 'wrong' ? 'account-mail.wrong' : 'account-mail.too_many_wrong'));
    },
  };
}

function planRemoval(visit: Visit<null>): Planned {
  const {
    visitor: { person },
    words,
  } = visit;
  return {
    command: 'remove mail address',
    target: person.id,
    review: {
      title: words.say('account-mail.remove_title'),
      consequence: html`<p>${words.say('account-mail.remove_text')}</p>`,
      button: words.say('account-mail.remove_button'),
      back: '/account',
      needsSudo: true,
    },
    async act(database, act) {
      const isRemoved = await database.removePersonMail(person.id, act);
      return isRemoved ? { to: '/account', said: words.say('account-mail.removed') } : null;
    },
  };
}
