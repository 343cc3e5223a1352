/**
 * What belongs to the person who is signed in: roles, and where else the account is signed in.
 * @module
 */
import { html } from '../../lib/html.ts';
import { isZone } from '../../lib/zone.ts';
import { changeFields, commonChange, type Planned } from '../change.ts';
import { actOf, type DashboardDeps } from '../deps.ts';
import { formTokenField } from '../frame.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { ago, facts, faultMessage, table, time } from '../show.ts';
import { sessionLimits } from '../web-session.ts';
import { passkeyPages, passkeySection } from './passkeys.ts';

export const accountPages = (deps: DashboardDeps): readonly CommonPage[] => [
  ...passkeyPages(deps),
  {
    method: 'get',
    path: '/',
    needs: 'to be signed in',
    async answer({ visitor: { person } }) {
      const store = person.memberships.find(({ storeId }) => storeId !== null);
      if (person.memberships.some(({ role }) => role === 'operator')) return { to: '/operator' };
      return {
        to: store ? `/s/${store.storeId}/${store.role === 'developer' ? 'test' : 'live'}/overview` : '/account',
      };
    },
  },
  {
    method: 'get',
    path: '/account',
    needs: 'to be signed in',
    answer: (visit) => accountPage(deps, visit, null),
  },
  commonChange(deps, { path: '/account/zone', needs: 'to be signed in', plan: (visit) => planZone(deps, visit) }),
  {
    method: 'post',
    path: '/account/sessions/end',
    needs: 'to be signed in',
    async answer({ visitor: { person, session }, form: { which = '' } }) {
      const { database, clock } = deps;
      const chosen = which === 'others' ? { allBut: session.hash } : { only: which };
      await database.endWebSessions(person.id, chosen, actOf(person, 'end sessions', clock));
      return { to: '/account' };
    },
  },
];

async function accountPage(deps: DashboardDeps, visit: Visit<null>, fault: string | null): Promise<Reply> {
  const { visitor, nowMs, form: typed } = visit;
  const { person, session, formToken } = visitor;
  const open = await deps.database.listWebSessions(person.id, nowMs, sessionLimits);
  const form = (which: string, text: string) => html`<form method="post" action="/account/sessions/end">
${formTokenField(formToken)}<input type="hidden" name="which" value="${which}"><button class="plain">${text}</button></form>`;
  const roles = person.memberships.map(({ role, storeId }) => (storeId === null ? role : `${role} of ${storeId}`));
  return {
    title: 'My account',
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}<section class="card">${facts([
      ['Name', person.name],
      ['Roles', roles.join(', ') || 'none'],
    ])}
<p class="hint">For another password, app or recovery codes: <code>quayside user reset ${person.name}</code>.</p></section>
${await passkeySection(deps, visit)}
<form method="post" action="/account/zone" class="card" aria-labelledby="zone"><h2 id="zone">Time zone</h2>${changeFields(visit)}
<label>Times and days are shown in <input name="zone" value="${typed.zone ?? person.zone ?? ''}" placeholder="each store’s own" maxlength="64" autocomplete="off" spellcheck="false"></label>
<p class="hint">Such as Europe/Berlin. Empty for each store’s own, which its owner sets.</p>
<button class="plain">Save</button></form>
<section class="card" aria-labelledby="open"><h2 id="open">Where you are signed in</h2>
${table(
  'Where you are signed in',
  ['Since', 'Last seen', 'Address', 'Browser', 'End'],
  open.map((one) => [
    time(one.startedAtMs),
    ago(one.seenAtMs, nowMs),
    one.address,
    one.device,
    one.hash === session.hash ? 'this one' : form(one.hash, 'End it'),
  ]),
)}
${open.length > 1 ? form('others', 'End all others') : null}</section>`,
  };
}

async function planZone(deps: DashboardDeps, visit: Visit<null>): Promise<Planned> {
  const { visitor, form } = visit;
  const zone = (form.zone ?? '').trim();
  if (zone !== '' && !isZone(zone)) {
    return accountPage(deps, visit, `“${zone}” is no time zone. Write it like Europe/Berlin or Asia/Kolkata.`);
  }
  return {
    command: 'set time zone',
    target: visitor.person.id,
    review: null,
    async act(database, act) {
      await database.setZone(visitor.person.id, zone === '' ? null : zone, act);
      return { to: '/account', said: 'The time zone is saved.' };
    },
  };
}
