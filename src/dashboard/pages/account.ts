/**
 * What belongs to the person who is signed in: roles, passkeys, and where else the account is signed in.
 * @module
 */
import { html } from '../../lib/html.ts';
import { actOf, type DashboardDeps } from '../deps.ts';
import { formTokenField } from '../frame.ts';
import type { CommonPage } from '../page.ts';
import { ago, facts, table, time } from '../show.ts';
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
    async answer(visit) {
      const { visitor, nowMs } = visit;
      const { person, session, formToken } = visitor;
      const open = await deps.database.listWebSessions(person.id, nowMs, sessionLimits);
      const form = (which: string, text: string) => html`<form method="post" action="/account/sessions/end">
${formTokenField(formToken)}<input type="hidden" name="which" value="${which}"><button class="plain">${text}</button></form>`;
      const roles = person.memberships.map(({ role, storeId }) => (storeId === null ? role : `${role} of ${storeId}`));
      return {
        title: 'My account',
        content: html`<section class="card">${facts([
          ['Name', person.name],
          ['Roles', roles.join(', ') || 'none'],
        ])}
<p class="hint">For another password, app or recovery codes: <code>quayside user reset ${person.name}</code>.</p></section>
${await passkeySection(deps, visit)}
<section class="card" aria-labelledby="open"><h2 id="open">Where you are signed in</h2>
${table(
  'Where you are signed in',
  ['Since (UTC)', 'Last seen', 'Address', 'Browser', 'End'],
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
    },
  },
  {
    method: 'post',
    path: '/account/sessions/end',
    needs: 'to be signed in',
    async answer({ visitor: { person, session }, form: { which = '' } }) {
      const chosen = which === 'others' ? { allBut: session.hash } : { only: which };
      await deps.database.endWebSessions(person.id, chosen, actOf(person, 'end sessions', deps.clock));
      return { to: '/account' };
    },
  },
];
