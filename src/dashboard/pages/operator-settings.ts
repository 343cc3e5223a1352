/**
 * Every setting as it is in force, where it comes from, and what to write to change it. Nothing is changed here: where
 * money comes in and who is asked about it are set in files only.
 */
import { lineWith, type SettingOrigin, type ShownSetting } from '../../config/shown-settings.ts';
import { type Html, html } from '../../lib/html.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage } from '../page.ts';
import { badge, data, table } from '../show.ts';
import type { Words } from '../texts.ts';

const PATH = '/operator/settings';

export const operatorSettingsPage = (deps: DashboardDeps): CommonPage => ({
  method: 'get',
  path: PATH,
  needs: 'installation:read',
  answer: async ({ query, words }) => {
    const derived = derivedValues(deps);
    const { file, isShipped, settings } = deps.readSettings();
    const groups = [...new Set(settings.map(({ group }) => group))];
    const group = query.get('of') ?? '';
    if (!groups.includes(group)) return null;
    return {
      title: group === '' ? words.say('frame.operator_settings') : words.say('operator-settings.title_of', { group }),
      content: html`${groupMenu(words, groups, group)}
<p class="card">${words.html(isShipped ? 'operator-settings.intro_sandbox' : 'operator-settings.intro', { file: html`<code>${file}</code>` })}</p>
${table(
  words.say('frame.operator_settings'),
  [
    words.say('general.setting'),
    words.say('operator-settings.in_force'),
    words.say('operator-settings.from'),
    words.say('operator-settings.to_change'),
  ],
  settings
    .filter((one) => one.group === group)
    .map((one) => [
      html`<code>${one.path}</code>`,
      html`<span>${valueText(words, one, derived)}</span>`,
      originText(words, one.origin),
      html`<div>${change(words, withDerived(one, derived))}</div>`,
    ]),
)}`,
    };
  },
});

const groupMenu = (words: Words, groups: readonly string[], current: string): Html =>
  html`<nav aria-label="${words.say('operator-settings.groups')}"><ul>${groups.map((group) => {
    const href = group === '' ? PATH : `${PATH}?of=${encodeURIComponent(group)}`;
    return html`<li><a href="${href}"${group === current ? html` aria-current="page"` : null}>${group === '' ? words.say('operator-settings.general') : data(group)}</a></li>`;
  })}</ul></nav>`;

type DerivedValues = Readonly<Record<string, string | number>>;

/** What follows from other settings where these say nothing. */
const derivedValues = ({ config, url }: DashboardDeps): DerivedValues => ({
  base_url: config.baseUrl,
  checkout_url: config.checkoutUrl,
  dashboard_url: url,
  dashboard_port: config.dashboardPort,
  metrics_port: config.metricsPort,
});

function valueText(words: Words, { path, value, isSecret, isSet }: ShownSetting, derived: DerivedValues): Html {
  if (isSecret)
    return isSet
      ? badge(words.say('operator-settings.set'), 'good')
      : badge(words.say('operator-settings.not_set'), 'wait');
  if (isSet) return html`<code>${value}</code>`;
  const follows = derived[path];
  if (follows !== undefined)
    return html`<code>${JSON.stringify(follows)}</code> <span class="hint">${words.say('operator-settings.by_others')}</span>`;
  return badge(words.say('operator-settings.not_set'), 'wait');
}

const originText = (words: Words, origin: SettingOrigin): Html | string =>
  origin.kind === 'variable'
    ? html`<span>${words.html('operator-settings.from_variable', { name: html`<code>${origin.name}</code>` })}</span>`
    : words.say(`operator-settings.from_${origin.kind}`);

/** What follows from other settings is where a change begins. */
const withDerived = (one: ShownSetting, derived: DerivedValues): ShownSetting => {
  const follows = one.isSet ? undefined : derived[one.path];
  return follows === undefined ? one : { ...one, line: lineWith(one, follows) };
};

/** A variable stands above the file, so that a line in the file would change nothing. */
function change(words: Words, { origin, line, into, value, isSecret, expected, fileVariable }: ShownSetting): Html {
  const how =
    origin.kind === 'variable'
      ? words.html('operator-settings.in_environment', {
          line: html`<code>${origin.name}=${isSecret || origin.name === fileVariable ? '…' : (value ?? '…')}</code>`,
        })
      : into === ''
        ? html`<code>${line}</code>`
        : words.html('operator-settings.in_file', {
            line: html`<code>${line}</code>`,
            place: html`<code>${into}</code>`,
          });
  const secret = isSecret
    ? html` ${words.html('operator-settings.secret_file', { line: html`<code>${fileVariable}=…</code>` })}`
    : null;
  const kind = expected === '' ? null : words.html('operator-settings.may_be', { expected });
  return html`${how}<br><span class="hint">${kind}${secret}</span>`;
}
