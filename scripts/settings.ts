/**
 * Writes the settings into `config/README.md`, from the schema, `config/default.json` and
 * `config/descriptions.json`. A group that stands there is one setting: its keys are given together.
 *
 *   npm run settings               writes the file
 *   npm run settings -- --check    fails if the file is not what they say
 *
 * Between `<!-- settings: GROUP -->` and `<!-- end -->` stand the settings of one group: the first part of their path,
 * or `general` for those that have no group. The rest of the page is written by hand.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { type NamedSetting, namesOfAll } from '../src/config/setting-names.ts';
import { isFields } from '../src/core/fields.ts';

const PAGE = 'config/README.md';
const COLUMNS_MAX = 120;

const settings = namesOfAll();
const isGroup = ({ path }: NamedSetting): boolean =>
  settings.some((other) => other.path.length > path.length && path.every((part, at) => other.path[at] === part));

const descriptions: Readonly<Record<string, string>> = JSON.parse(readFileSync('config/descriptions.json', 'utf8'));
const defaults: unknown = JSON.parse(readFileSync('config/default.json', 'utf8'));

/** Returns what a setting is where nothing says it, as the page writes it; empty where it must be given. */
function defaultText({ path, fallback }: NamedSetting): string {
  const given = path.reduce<unknown>((at, key) => (isFields(at) ? at[key] : undefined), defaults) ?? fallback;
  const value = given === undefined && path[0] !== 'networks' ? null : given;
  return value === undefined ? '' : ` (\`${JSON.stringify(value)}\`)`;
}

/** Returns a path as it stands below the heading of its group. */
const shownName = (path: readonly string[]): string => path.slice(path[0] === 'networks' ? 2 : 0).join('.');

function lineOf(setting: NamedSetting): string {
  const key = setting.path.join('.');
  const description = descriptions[key];
  if (description === undefined) throw new Error(`config/descriptions.json does not say what ${key} is`);
  return wrapped(`- **\`${shownName(setting.path)}\`**${defaultText(setting)}: ${description}`);
}

/** Returns a list item on lines that fit the screen. */
function wrapped(item: string): string {
  const lines = [''];
  for (const word of item.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last.length + word.length < COLUMNS_MAX) lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
    else lines.push(`  ${word}`);
  }
  return lines.join('\n');
}

const groupOf = ({ path }: NamedSetting): string =>
  path.length === 1 || path[0] === 'signer' ? 'general' : `${path[0]}`;

function page(before: string): string {
  const leaves = settings.filter((one) => !isGroup(one));
  const unknown = Object.keys(descriptions).filter((key) => !leaves.some(({ path }) => path.join('.') === key));
  if (unknown.length > 0)
    throw new Error(`config/descriptions.json describes what is no setting: ${unknown.join(', ')}`);
  const shown = new Set<string>();
  const text = before.replace(/(<!-- settings: (\w+) -->\n)[\s\S]*?(<!-- end -->)/g, (_, begin, group, end) => {
    shown.add(group);
    const own = leaves.filter((one) => groupOf(one) === group);
    return `${begin}\n${own.map(lineOf).join('\n')}\n\n${end}`;
  });
  const missing = [...new Set(leaves.map(groupOf))].filter((group) => !shown.has(group));
  if (missing.length > 0) throw new Error(`${PAGE} has no place for the settings of ${missing.join(', ')}`);
  return text;
}

const before = readFileSync(PAGE, 'utf8');
const after = page(before);
if (!process.argv.includes('--check')) writeFileSync(PAGE, after);
else if (after !== before) {
  process.stderr.write(`${PAGE} is not what the settings say: run \`npm run settings\`\n`);
  process.exitCode = 1;
}
