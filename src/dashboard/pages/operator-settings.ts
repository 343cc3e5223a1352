/**
 * Every setting as it is in force, where it comes from, and what to write to change it. Nothing is changed here: where
 * money comes in and who is asked about it are set in files only.
 * @module
 */
import type { SettingOrigin, ShownSetting } from '../../config/shown-settings.ts';
import { type Html, html } from '../../lib/html.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage } from '../page.ts';
import { badge, table } from '../show.ts';

const PATH = '/operator/settings';

export const operatorSettingsPage = (deps: DashboardDeps): CommonPage => ({
  method: 'get',
  path: PATH,
  needs: 'installation:read',
  answer: async ({ query }) => {
    const { file, settings } = deps.readSettings();
    const groups = [...new Set(settings.map(({ group }) => group))];
    const group = query.get('of') ?? '';
    if (!groups.includes(group)) return null;
    return {
      title: group === '' ? 'Settings' : `Settings: ${group}`,
      content: html`${groupMenu(groups, group)}
<p class="card">This is what the server read when it started. To change a setting, put its line into <code>${file}</code>, then
restart Quayside. Its own page of the documentation is <code>config/README.md</code>.</p>
${table(
  'Settings',
  ['Setting', 'In force', 'From', 'To change it'],
  settings
    .filter((one) => one.group === group)
    .map((one) => [
      html`<code>${one.path}</code>`,
      html`<span>${valueText(one, derivedValues(deps))}</span>`,
      originText(one.origin),
      html`<div>${change(one)}</div>`,
    ]),
)}`,
    };
  },
});

const groupMenu = (groups: readonly string[], current: string): Html =>
  html`<nav aria-label="Groups of settings"><ul>${groups.map((group) => {
    const href = group === '' ? PATH : `${PATH}?of=${encodeURIComponent(group)}`;
    return html`<li><a href="${href}"${group === current ? html` aria-current="page"` : null}>${group === '' ? 'General' : group}</a></li>`;
  })}</ul></nav>`;

/** What follows from other settings where these say nothing. */
const derivedValues = ({ config, url }: DashboardDeps): Readonly<Record<string, string | number>> => ({
  base_url: config.baseUrl,
  checkout_url: config.checkoutUrl,
  dashboard_url: url,
  dashboard_port: config.dashboardPort,
  metrics_port: config.metricsPort,
});

function valueText(
  { path, value, isSecret, isSet }: ShownSetting,
  derived: Readonly<Record<string, string | number>>,
): Html {
  if (isSecret) return isSet ? badge('set', 'good') : badge('not set', 'wait');
  if (isSet) return html`<code>${value}</code>`;
  const follows = derived[path];
  if (follows !== undefined)
    return html`<code>${JSON.stringify(follows)}</code> <span class="hint">by other settings</span>`;
  return html`${badge('not set', 'wait')}`;
}

function originText(origin: SettingOrigin): Html | string {
  switch (origin.kind) {
    case 'variable':
      return html`<span>variable <code>${origin.name}</code></span>`;
    case 'file':
      return 'settings file';
    case 'preset':
      return 'preset of the network';
    case 'sandbox':
      return 'the sandbox';
    case 'default':
      return 'default';
  }
}

/** A variable stands above the file, so that a line in the file would change nothing. */
function change({ origin, line, into, value, isSecret, expected, fileVariable }: ShownSetting): Html {
  const how =
    origin.kind === 'variable'
      ? html`<code>${origin.name}=${isSecret || origin.name === fileVariable ? '…' : (value ?? '…')}</code> in the environment`
      : html`<code>${line}</code> ${into === '' ? null : html`in <code>${into}</code>`}`;
  const secret = isSecret ? html` Or <code>${fileVariable}=…</code>, a file that holds it.` : null;
  return html`${how}<br><span class="hint">${expected === '' ? null : `May be ${expected}.`}${secret}</span>`;
}
