/** Reads a command line with commander: its options, those that are required, their choices, and its arguments. */
import { Command as Parser, Option as ParserOption } from 'commander';
import { type Command, type Input, type OfflineCommand, type Option, usage } from './command.ts';
import { everywhere, placeholder } from './option.ts';

/**
 * Reads the words after a command's name.
 * @throws Fault permanent `usage`
 */
export function readInput(
  command: Command | OfflineCommand,
  words: readonly string[],
): Pick<Input, 'args' | 'options'> {
  const parser = new Parser(command.name)
    .exitOverride()
    .showSuggestionAfterError()
    .helpOption(false)
    .allowExcessArguments(false)
    .configureOutput({ writeErr: () => undefined });
  for (const name of command.args) parser.argument(`<${name}>`);
  for (const name of command.optionalArgs ?? []) parser.argument(`[${name}]`);
  const names = Object.entries({ ...command.options, ...everywhere }).map(([name, option]) => {
    const added = parserOption(name, option);
    parser.addOption(added);
    return [name, added.attributeName()] as const;
  });
  try {
    parser.parse([...words], { from: 'user' });
  } catch (error) {
    throw usage(messageOf(error, words));
  }
  const values = parser.opts<Record<string, string | boolean | undefined>>();
  const given = names.filter(([, key]) => values[key] !== undefined);
  return { args: parser.args, options: Object.fromEntries(given.map(([name, key]) => [name, values[key]])) };
}

function parserOption(name: string, option: Option): ParserOption {
  const value = placeholder(option);
  const made = new ParserOption(`--${name}${value === null ? '' : ` <${value}>`}`, option.help);
  if (option.choices) made.choices([...option.choices]);
  return made.makeOptionMandatory(option.required === true);
}

/** Returns what commander says about a wrong command line, in the words of this tool's other messages. */
function messageOf(error: unknown, words: readonly string[]): string {
  const { code = '', message = String(error) } = error as Readonly<{ code?: string; message?: string }>;
  const [, named = ''] = /'(?:--)?([\w-]+)/.exec(message) ?? [];
  switch (code) {
    case 'commander.missingArgument':
      return `<${named}> is missing`;
    case 'commander.missingMandatoryOptionValue':
      return `--${named} is missing`;
    case 'commander.optionMissingArgument':
      return `--${named} needs a value`;
    case 'commander.excessArguments':
      return `unexpected argument "${words.filter((word) => !word.startsWith('--')).at(-1) ?? ''}"`;
    case 'commander.invalidArgument': {
      const [, given = '', allowed = ''] =
        /argument '(.*)' is invalid\. Allowed choices are (.*)\.$/s.exec(message) ?? [];
      return `--${named} is "${given}", expected ${allowed.split(', ').join(' or ')}`;
    }
    default:
      return message.replace(/^error: /, '').replace(/\n/, ' ');
  }
}
