/** A tool as commander reads it: its commands by subject, with their help, options and arguments. */
import { Command as Parser, Option as ParserOption } from 'commander';
import { readShipped } from '../../src/lib/installation.ts';
import { type AnyCommand, dashed, type Input, type Option, type Tool } from './command.ts';

/** The width of help without a terminal, or on one that reports none. */
const COLUMNS = 100;
/** Choices of more characters stand beside an option, and not within it. */
const CHOICES_CHARS_MAX = 20;

const helpWidth = (): number => (process.stdout.isTTY && process.stdout.columns) || COLUMNS;

const jsonOption: Option = { help: 'print the answer as JSON' };

type Given = Pick<Input, 'args' | 'options'>;

/**
 * Returns the parser of a tool.
 * @param write takes what help prints
 * @param run does the command that was named
 */
export function parserOf(
  { name, purpose, sections }: Tool,
  write: (text: string) => void,
  run: (command: AnyCommand, given: Given) => Promise<void>,
): Parser {
  const root = new Parser(name)
    .description(purpose)
    .version(`${name} ${readShipped<{ version: string }>('package.json').version}`, '--version', 'print the version')
    .exitOverride()
    .configureHelp({
      subcommandTerm: (one) => `${one.name()} ${one.usage().replace(/\[(options|command)\] ?/g, '')}`.trim(),
      // The placeholder has the choices already.
      optionDescription: ({ description }) => description,
    })
    .configureOutput({
      writeOut: write,
      writeErr: write,
      outputError: () => undefined,
      getOutHelpWidth: helpWidth,
      getErrHelpWidth: helpWidth,
    })
    .addHelpText(
      'after',
      '\nQUAYSIDE_CONFIG and QUAYSIDE_DATA_DIR select the installation. --completion SHELL prints a script for bash, zsh or fish.\n' +
        'Exit codes: 0 done, 1 refused or failed, 2 wrong usage or configuration, 3 what was named does not exist.',
    );
  for (const [title, commands] of sections) {
    for (const subject of new Set(commands.map(subjectOf))) {
      const own = commands.filter((one) => subjectOf(one) === subject);
      const verbs = own.flatMap((one) => one.name.split(' ')[1] ?? []);
      const parent = verbs.length > 0 ? root.command(subject).description(verbs.join(', ')) : root;
      for (const command of own) addCommand(parent, command, run);
      root.commands.at(-1)?.helpGroup(`${title}:`);
    }
  }
  const help = new Parser('help').argument('[command]').description('show the help of a command');
  return root.addHelpCommand(help.helpGroup(`${sections.at(-1)?.[0]}:`));
}

const subjectOf = ({ name }: AnyCommand): string => name.split(' ')[0] ?? name;

function addCommand(
  parent: Parser,
  command: AnyCommand,
  run: (command: AnyCommand, given: Given) => Promise<void>,
): void {
  const { name, args = '', summary, options, notes } = command;
  const parser = parent
    .command(`${name.split(' ').at(-1)} ${args}`.trim())
    .description(summary)
    .summary(summary.split(/[:;.](?=\s|$)/)[0] ?? summary)
    .allowExcessArguments(false);
  for (const [option, one] of Object.entries({ ...options, json: jsonOption }))
    parser.addOption(parserOption(dashed(option), one));
  if (notes) parser.addHelpText('after', `\n${notes.join('\n')}`);
  parser.action(() => run(command, { args: parser.args, options: parser.opts() }));
}

function parserOption(name: string, { value, choices, help = '', isRequired }: Option): ParserOption {
  const all = choices?.join('|');
  const isLong = value === undefined && all !== undefined && all.length > CHOICES_CHARS_MAX;
  const placeholder = isLong ? dashed(name).toUpperCase() : (value ?? all);
  const explained = isLong ? `${choices?.join(', ')}: ${help}` : help;
  const text = isRequired ? `${explained} (required)` : explained;
  const made = new ParserOption(`--${name}${placeholder === undefined ? '' : ` <${placeholder}>`}`, text);
  if (choices) made.choices([...choices]);
  return made.makeOptionMandatory(isRequired === true);
}
