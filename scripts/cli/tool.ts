/**
 * A tool as a function: finds the command, reads its options, runs it and returns what to print. `scripts/quayside.ts`
 * and `scripts/quayside-signer.ts` are the programs around it.
 *
 * Exit codes: 0 done · 1 refused or failed · 2 wrong usage or configuration · 3 what was named does not exist.
 */
import { existsSync } from 'node:fs';
import { styleText } from 'node:util';
import { openDatabase } from '../../src/app/open-database.ts';
import { prepareDatabase } from '../../src/app/prepare-database.ts';
import { loadConfig } from '../../src/config/config.ts';
import { printable } from '../../src/core/excerpt.ts';
import { Fault, permanent } from '../../src/core/fault.ts';
import { refuseStaleBuild } from '../../src/lib/build-stamp.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { readShipped } from '../../src/lib/installation.ts';
import { databaseFile } from '../../src/lib/secret-key.ts';
import {
  type Command,
  type Input,
  type Listed,
  type OfflineCommand,
  operatorAct,
  type Tool,
  textOption,
} from './command.ts';
import { completion, shells } from './completion.ts';
import { commandHelp, groupHelp, overview, unknownCommand, usageLine } from './help.ts';
import { readInput } from './parser.ts';

const EXIT = { done: 0, failed: 1, usage: 2, notFound: 3 } as const;

/** The result of a run: its exit code, and what to write to standard output and standard error. */
type Ended = Readonly<{ code: number; out: string; err: string }>;

/**
 * Runs one command. Questions and progress go directly to the terminal of the process.
 * @param words the command line after the tool's name
 * @param cwd the folder that relative paths start from
 * @throws every error that is not a Fault: a bug
 */
export async function runTool(
  tool: Tool,
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  cwd: string,
): Promise<Ended> {
  const program = tool.programs[words[0] ?? ''];
  if (program) return { code: await program.run(words.slice(1)), out: '', err: '' };
  if (words[0] === '--version')
    return ended(tool, EXIT.done, [`${tool.name} ${readShipped<{ version: string }>('package.json').version}`]);
  if (words[0] === '--completion') return completed(tool, words[1]);
  const wantsHelp = words.includes('--help') || words.includes('-h') || words[0] === 'help';
  const named = words.filter((word) => !['help', '--help', '-h'].includes(word));
  const command = tool.commands.find(({ name }) => name === named.slice(0, name.split(' ').length).join(' '));
  if (!command) return withoutCommand(tool, wantsHelp, named);
  if (wantsHelp) {
    const group = groupHelp(tool.name, listed(tool), command.name);
    return ended(tool, EXIT.done, [...commandHelp(tool.name, command), ...(group ? ['', ...group] : [])]);
  }
  try {
    refuseStaleBuild();
    const input = { ...readInput(command, words.slice(command.name.split(' ').length)), env, cwd };
    const { json, lines, isBad, code } = await runOn(command, input);
    return ended(
      tool,
      code ?? (isBad ? EXIT.failed : EXIT.done),
      input.options.json ? [JSON.stringify(json, null, 2)] : lines,
    );
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const { code, message } = error;
    const json = words.includes('--json') ? [JSON.stringify({ error: { code, message } }, null, 2)] : [];
    const how = code === 'usage' ? [`usage: ${usageLine(tool.name, command)}`] : [];
    return ended(tool, exitCode(error), json, [message, ...how]);
  }
}

/** Returns every command and program that the help lists. */
const listed = ({ commands, programs }: Tool): readonly Listed[] => [
  ...commands,
  ...Object.entries(programs).map(([name, { summary }]) => ({ name, summary })),
];

/** Answers words that name no command: a group of commands, nothing at all, or a typo. */
function withoutCommand(tool: Tool, wantsHelp: boolean, named: readonly string[]): Ended {
  const all = listed(tool);
  const group = named.length === 1 || wantsHelp ? groupHelp(tool.name, all, named[0] ?? '') : null;
  if (group) return ended(tool, wantsHelp ? EXIT.done : EXIT.usage, group);
  if (named.length > 0) return ended(tool, EXIT.usage, [], [unknownCommand(tool.name, all, named)]);
  const lines = overview(tool, all).map((line) => (line.endsWith(':') ? coloured('bold', line, process.stdout) : line));
  return { code: wantsHelp ? EXIT.done : EXIT.usage, out: `${lines.join('\n')}\n`, err: '' };
}

function completed(tool: Tool, shell: string | undefined): Ended {
  const script = completion(tool, listed(tool), shell ?? '');
  return script === null
    ? ended(tool, EXIT.usage, [], [`--completion ${shell ?? ''} is not known, expected ${shells.join(', ')}`])
    : ended(tool, EXIT.done, script);
}

function ended({ name }: Tool, code: number, lines: readonly string[], complaints: readonly string[] = []): Ended {
  const safe = (text: string) => text.split('\n').map(printable).join('\n');
  const prefix = coloured('red', `${name}:`, process.stderr);
  return {
    code,
    out: lines.map((line) => `${safe(line)}\n`).join(''),
    err: complaints.map((line) => `${prefix} ${safe(line)}\n`).join(''),
  };
}

/** Colours a text on a terminal, unless `NO_COLOR` is set. */
const coloured = (format: 'bold' | 'red', text: string, stream: NodeJS.WriteStream): string =>
  styleText(format, text, { stream });

async function runOn(command: Command | OfflineCommand, input: Input) {
  if ('runOffline' in command) return command.runOffline(input);
  const { env, cwd } = input;
  const config = loadConfig({ env, cwd, beforeSandbox: !command.needsSandbox });
  // The upgrade of an older database is left to `npm start`, which makes sure that nothing else uses it.
  if (!existsSync(databaseFile(config.dataDir))) {
    if (!command.createsInstallation) throw noInstallation(config.dataDir);
    prepareDatabase(config, env);
  }
  const target = [...input.args, textOption(input, 'store') ?? []].flat().join(' ') || '-';
  const act = { ...operatorAct(command, input, systemClock), target };
  const database = openDatabase(config, env, { act });
  try {
    return await command.run(input, { config, database, clock: systemClock });
  } finally {
    database.close();
  }
}

/** A mistyped folder must not become an installation, with a secret key of its own. */
const noInstallation = (dataDir: string): Fault =>
  permanent(
    'no_installation',
    `there is no installation in ${dataDir}; check QUAYSIDE_DATA_DIR and QUAYSIDE_CONFIG, or make one there with \`npm start\` or \`quayside store add <name>\``,
  );

function exitCode(fault: Fault): number {
  if (['usage', 'config_invalid', 'build_stale', 'cannot_start', 'no_installation'].includes(fault.code))
    return EXIT.usage;
  return fault.code === 'not_found' ? EXIT.notFound : EXIT.failed;
}
