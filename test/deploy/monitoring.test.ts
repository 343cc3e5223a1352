/**
 * Metrics, their page, the alert rules and the dashboard name the same things. The rules themselves are tested by
 * promtool, where it is installed.
 */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createMetrics } from '../../src/app/metrics.ts';
import { column } from '../support/fields.ts';
import { handClock } from '../support/hand-clock.ts';
import { openTempDatabase } from '../support/temp-database.ts';
import { testNetwork } from '../support/test-network.ts';

const page = readFileSync('docs/reference/metrics.md', 'utf8');
const rules = readFileSync('deploy/monitoring/alerts.yml', 'utf8');
const dashboard = readFileSync('deploy/monitoring/grafana/dashboards/quayside.json', 'utf8');

/** Metrics of a server that has every kind of work: their help by name, and all names. */
async function exposed() {
  const clock = handClock();
  const { database, close } = openTempDatabase();
  const metrics = createMetrics({
    database,
    config: { networks: [testNetwork({ name: 'one', xpub: null })], dataDir: tmpdir() },
    rates: {
      status: () => [{ source: 'kraken', ageS: 1, fresh: true, pairs: 1, fault: null }],
      pegs: () => [{ currency: 'USDT', price: '1', offered: true }],
    } as never,
    clock,
  });
  metrics.observe({ route: '/livez', method: 'GET', status: 200, ms: 1 });
  const { text } = await metrics.read();
  close();
  const help = new Map([...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name = '', words = '']) => [name, words]));
  const histograms = [...text.matchAll(/^# TYPE (\S+) histogram$/gm)].map(([, name = '']) => name);
  const names = [
    ...help.keys(),
    ...histograms.flatMap((name) => ['_bucket', '_sum', '_count'].map((end) => name + end)),
  ];
  return { help, names: new Set(names) };
}

const { help, names } = await exposed();

/** The entries of the page's lists of metrics. */
const rows = [...page.matchAll(/^- `(quayside_\w+)`(?: \(([^)]*)\))?: (.*(?:\n {2}.*)*)$/gm)].map(
  ([, name = '', own = '', words = '']) => ({
    name,
    words: words.replaceAll('\n ', ''),
    labels: [...own.matchAll(/`(\w+)`/g)].map(([, label = '']) => label),
  }),
);

test('every metric is on the page, with its words, and the page has no other', () => {
  const ours = [...help].filter(([name]) => name.startsWith('quayside_'));
  assert.ok(ours.length > 20, `${ours.length}`);
  assert.equal(Object.fromEntries(rows.map(({ name, words }) => [name, words])), Object.fromEntries(ours));
  assert.is(new Set(rows.map(({ name }) => name)).size, rows.length, 'each is there once');
});

/** Names of metrics in an expression of Prometheus, with the labels that it selects by. */
const metricsOf = (expression: string) =>
  [...expression.matchAll(/\b((?:quayside|nodejs|process)_\w+)(?:\{([^}]*)\})?/g)].map(([, name = '', own = '']) => ({
    name,
    labels: [...own.matchAll(/(\w+)(?:=|!)/g)].map(([, label = '']) => label),
  }));

const ruleExpressions = [...rules.matchAll(/^ {8}expr: (.*)$/gm)].map(([, text = '']) => text);
const panels: readonly { title: string; targets: readonly { expr: string }[] }[] = JSON.parse(dashboard).panels;

test('rules and panels use metrics and labels that exist, and the dashboard shows every one', () => {
  const used = [...ruleExpressions, ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))].flatMap(
    metricsOf,
  );
  assert.ok(used.length > 45, `${used.length}`);
  for (const { name, labels: own } of used) {
    assert.ok(names.has(name), `${name} does not exist`);
    const row = rows.find((one) => one.name === name || one.name === name.replace(/_(bucket|sum|count)$/, ''));
    for (const label of own)
      if (!['job', 'le'].includes(label) && row) assert.ok(row.labels.includes(label), `${name}: ${label}`);
  }
  const inPanels = new Set(
    panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => metricsOf(expr))).map(({ name }) => name),
  );
  const missing = rows.filter(
    ({ name }) => ![name, `${name}_bucket`].some((one) => inPanels.has(one)) && !/_seconds_(sum|count)$/.test(name),
  );
  assert.equal(column(missing, 'name'), []);
  assert.is(new Set(panels.map(({ title }) => title)).size, panels.length);
});

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
const promtool = (...words: string[]) => spawnSync('promtool', words, { cwd: 'deploy/monitoring', encoding: 'utf8' });
(hasPromtool ? test : test.skip)(
  'promtool accepts the configuration and the rules, which fire when they should (needs promtool)',
  () => {
    for (const words of [
      ['check', 'config', 'prometheus.yml'],
      ['check', 'rules', 'alerts.yml'],
      ['test', 'rules', 'alerts.test.yml'],
    ]) {
      const { status, stdout, stderr } = promtool(...words);
      assert.is(status, 0, stdout + stderr);
    }
  },
);

test('an alarm that counts as critical exists', () => {
  const [, codes = ''] = /code=~"([^"]+)"/.exec(rules) ?? [];
  assert.ok(rules.includes(`code!~"${codes}"`), 'the two rules about alarms share one list');
  const documented = [...readFileSync('docs/reference/alarms.md', 'utf8').matchAll(/^- `(\w+)`/gm)].map(
    ([, code = '']) => code,
  );
  for (const part of codes.split('|'))
    assert.ok(
      documented.some((code) => new RegExp(`^(${part})$`).test(code)),
      part,
    );
});

test.run();
