/** The texts of `--help`: of a whole tool, of a group of commands, and of one command. */
import type { Command, Listed, OfflineCommand, Tool } from './command.ts';
import { everywhere, placeholder } from './option.ts';
import { table } from './table.ts';

/** Lines of a text are no longer than this, where their words allow it. */
const COLUMNS = 100;
/** A name that differs by more characters than this is another name, not a typo. */
const TYPO_CHARS_MAX = 3;

const withPlaceholders = ({ name, args = [], optionalArgs = [] }: Listed): string =>
  [name, ...args.map((arg) => `<${arg}>`), ...optionalArgs.map((arg) => `[${arg}]`)].join(' ');

/** Returns how a command is written; what may be left out is in brackets. */
export const usageLine = (tool: string, command: Command | OfflineCommand): string =>
  `${tool} ${usageWords(command).join(' ')}`;

const usageWords = (command: Command | OfflineCommand): string[] => [
  withPlaceholders(command),
  ...Object.entries(command.options).map(([name, option]) => {
    const text = optionText(name, option);
    return option.required ? text : `[${text}]`;
  }),
];

const optionText = (name: string, option: Command['options'][string]): string => {
  const value = placeholder(option);
  return `--${name}${value === null ? '' : ` ${value}`}`;
};

/** Returns the help of one command. */
export const commandHelp = (tool: string, command: Command | OfflineCommand): string[] => [
  command.summary,
  '',
  ...wrapped(`  ${tool}`, usageWords(command)),
  '',
  ...table(
    Object.entries({ ...command.options, ...everywhere }).map(([name, option]) => [
      `  ${optionText(name, option)}`,
      option.required ? `${option.help} (required)` : option.help,
    ]),
  ),
  ...(command.notes ? ['', ...command.notes] : []),
];

/** Returns the commands that begin with the word, such as `payouts`, with what each does; null if none does. */
export function groupHelp(tool: string, all: readonly Listed[], word: string): string[] | null {
  const own = all.filter(({ name }) => name.startsWith(`${word} `));
  if (own.length === 0) return null;
  const alone = all.filter(({ name }) => name === word);
  return [
    ...[...alone, ...own].flatMap((one) => [`  ${tool} ${withPlaceholders(one)}`, `      ${one.summary}`]),
    '',
    `\`${tool} <command> --help\` shows the options of a command.`,
  ];
}

/** Returns the overview: the subjects by how often they are needed, each with its verbs or with what it does. */
export function overview({ name: tool, purpose, sections }: Tool, all: readonly Listed[]): string[] {
  const width = Math.max(...sections.flatMap(([, subjects]) => subjects.map(({ length }) => length))) + 4;
  const described = (subject: string): string[] => {
    const verbs = all
      .filter(({ name }) => name.startsWith(`${subject} `))
      .map(({ name }) => name.slice(subject.length + 1));
    const head = `  ${subject}`.padEnd(width);
    const alone = all.find(({ name }) => name === subject);
    if (verbs.length === 0) return [head + (alone?.summary ?? '')];
    const words = [...(alone ? ['(alone)'] : []), ...verbs];
    return wrapped(
      head.slice(0, -1),
      words.map((verb, at) => (at < words.length - 1 ? `${verb},` : verb)),
    );
  };
  return [
    `${tool}: ${purpose}`,
    ...sections.flatMap(([title, subjects, only]) => [
      `${title}:`,
      ...(only === 'names' ? wrapped(' ', [subjects.join(', ')]) : subjects.flatMap(described)),
    ]),
    '',
    `\`${tool} <subject> --help\` says more. Every command accepts --json; --version and --completion SHELL stand alone.`,
    'QUAYSIDE_CONFIG and QUAYSIDE_DATA_DIR select the installation.',
    'Exit codes: 0 done, 1 refused or failed, 2 wrong usage or configuration, 3 what was named does not exist.',
  ];
}

/** Returns what to say of words that are no command: the command that was probably meant, and where all are listed. */
export function unknownCommand(tool: string, all: readonly Listed[], words: readonly string[]): string {
  const like = all
    .map(({ name }) => ({ name, chars: charsBetween(words.slice(0, name.split(' ').length).join(' '), name) }))
    .filter(({ name, chars }) => chars <= Math.min(TYPO_CHARS_MAX, name.length / 2))
    .sort((one, other) => one.chars - other.chars)[0];
  const group = groupHelp(tool, all, words[0] ?? '') && `\`${tool} ${words[0]} --help\``;
  const meant = like ? `did you mean \`${tool} ${like.name}\`? ` : '';
  return `unknown command "${words.slice(0, 2).join(' ')}"; ${meant}${group ?? `\`${tool} --help\``} lists the commands`;
}

/** Counts the characters to insert, remove or replace until the texts are equal (Levenshtein's distance). */
function charsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (const [at, char] of [...a].entries()) {
    const next = [at + 1];
    for (const [to, other] of [...b].entries()) {
      const replaced = (row[to] ?? 0) + (char === other ? 0 : 1);
      next.push(Math.min(replaced, (row[to + 1] ?? 0) + 1, (next[to] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
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
