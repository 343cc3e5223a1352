/** The texts of `quayside --help`: of the whole tool, of a group of commands, and of one command. */
import { charsBetween } from '../../src/config/setting-names.ts';
import type { Command, OfflineCommand } from './command.ts';
import { table } from './command.ts';

/** A command, or a program of its own that the tool starts: what a list of them shows. */
export type Listed = Readonly<{
  name: string;
  args?: readonly string[];
  optionalArgs?: readonly string[];
  summary: string;
}>;

/** Options that every command has. */
export const everywhere: Command['options'] = {
  json: { help: 'print the answer as JSON' },
  help: { help: 'show this text' },
};

/** Lines of a text are no longer than this, where their words allow it. */
const COLUMNS = 100;
/** A name that differs by more characters than this is another name, not a typo. */
const TYPO_CHARS_MAX = 3;

const withPlaceholders = ({ name, args = [], optionalArgs = [] }: Listed): string =>
  [name, ...args.map((arg) => `<${arg}>`), ...optionalArgs.map((arg) => `[${arg}]`)].join(' ');

/** Returns how a command is written; what may be left out is in brackets. */
export const usageLine = (command: Command | OfflineCommand): string => `quayside ${usageWords(command).join(' ')}`;

const usageWords = (command: Command | OfflineCommand): string[] => [
  withPlaceholders(command),
  ...Object.entries(command.options).map(([option, { value, required }]) => {
    const text = `--${option}${value ? ` ${value}` : ''}`;
    return required ? text : `[${text}]`;
  }),
];

/** Returns the help of one command. */
export const commandHelp = (command: Command | OfflineCommand): string[] => [
  command.summary,
  '',
  ...wrapped('  quayside', usageWords(command)),
  '',
  ...table(
    Object.entries({ ...command.options, ...everywhere }).map(([name, { value, help }]) => [
      `  --${name}${value ? ` ${value}` : ''}`,
      help,
    ]),
  ),
  ...(command.notes ? ['', ...command.notes] : []),
];

/** Returns the commands that begin with the word, such as `payouts`, with what each does; null if none does. */
export function groupHelp(all: readonly Listed[], word: string): string[] | null {
  const own = all.filter(({ name }) => name.startsWith(`${word} `));
  if (own.length === 0) return null;
  const alone = all.filter(({ name }) => name === word);
  return [
    ...[...alone, ...own].flatMap((one) => [`  quayside ${withPlaceholders(one)}`, `      ${one.summary}`]),
    '',
    '`quayside <command> --help` shows the options of a command.',
  ];
}

/** Returns the overview: single commands with what they do, and groups with the commands in them. */
export function overview(all: readonly Listed[]): string[] {
  const groups = [...new Set(all.filter(({ name }) => name.includes(' ')).map(({ name }) => name.split(' ')[0] ?? ''))];
  const single = all.filter(({ name }) => !name.includes(' '));
  const width = Math.max(...[...groups, ...single.map(({ name }) => name)].map(({ length }) => length)) + 4;
  const verbsOf = (group: string): string[] => {
    const verbs = all
      .filter(({ name }) => name.startsWith(`${group} `))
      .map(({ name }) => name.slice(group.length + 1));
    return verbs.map((verb, at) => (at < verbs.length - 1 ? `${verb},` : verb));
  };
  return [
    'quayside: operates a Quayside installation',
    '',
    'Commands:',
    ...single.map(({ name, summary }) => `  ${name}`.padEnd(width) + summary),
    '',
    'Groups of commands, such as `quayside key create`:',
    ...groups.flatMap((group) => wrapped(`  ${group}`.padEnd(width - 1), verbsOf(group))),
    '',
    '`quayside <command or group> --help` says more, and `quayside --version` which version this is. Every command',
    'accepts --json. QUAYSIDE_CONFIG and QUAYSIDE_DATA_DIR select the installation.',
    'Exit codes: 0 done, 1 refused or failed, 2 wrong usage or configuration, 3 what was named does not exist.',
  ];
}

/** Returns what to say of words that are no command: the command that was probably meant, and where all are listed. */
export function unknownCommand(all: readonly Listed[], words: readonly string[]): string {
  const like = all
    .map(({ name }) => ({ name, chars: charsBetween(words.slice(0, name.split(' ').length).join(' '), name) }))
    .filter(({ name, chars }) => chars <= Math.min(TYPO_CHARS_MAX, name.length / 2))
    .sort((one, other) => one.chars - other.chars)[0];
  const group = groupHelp(all, words[0] ?? '') && `\`quayside ${words[0]} --help\``;
  const meant = like ? `did you mean \`quayside ${like.name}\`? ` : '';
  return `unknown command "${words.slice(0, 2).join(' ')}"; ${meant}${group ?? '`quayside --help`'} lists the commands`;
}

/** Breaks words into lines, which are indented below the end of `head`. */
function wrapped(head: string, words: readonly string[]): string[] {
  const lines: string[] = [];
  let line = head;
  for (const word of words) {
    if (line.length + 1 + word.length > COLUMNS && line.length > head.length) {
      lines.push(line);
      line = ' '.repeat(head.length);
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}
