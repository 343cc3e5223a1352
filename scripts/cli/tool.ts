/**
 * A tool as a function: finds the command, reads its options, runs it and returns what to print. `scripts/quayside.ts`
 * and `scripts/quayside-signer.ts` are the programs around it.
 *
 * Exit codes: 0 done · 1 refused or failed · 2 wrong usage or configuration · 3 what was named does not exist.
 */
import { existsSync } from 'node:fs';
import { styleText } from 'node:util';
import { CommanderError } from 'commander';
import { openDatabase } from '../../src/app/open-database.ts';
import { prepareDatabase } from '../../src/app/prepare-database.ts';
import { loadConfig } from '../../src/config/config.ts';
import { printable } from '../../src/core/excerpt.ts';
import { Fault, permanent } from '../../src/core/fault.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { databaseFile } from '../../src/lib/secret-key.ts';
import { type Answer, type AnyCommand, type Input, operatorAct, type Tool, usage } from './command.ts';
import { completionScript, nextWords } from './completion.ts';
import { openProgress } from './output.ts';
import { parserOf } from './parser.ts';
import { wrapped } from './table.ts';

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
  const [first, ...rest] = words;
  if (first === '--complete') return ended(tool, EXIT.done, nextWords(tool, rest));
  const script = first === '--completion' ? completionScript(tool.name, rest[0] ?? '') : null;
  if (script) return ended(tool, EXIT.done, script);
  let help = '';
  let named: AnyCommand | undefined;
  let answer: Answer | undefined;
  const parser = parserOf(
    tool,
    (text) => {
      help += text;
    },
    async (command, given) => {
      named = command;
      const progress = openProgress();
      const act = operatorAct(command, { ...given, env }, systemClock);
      answer = await runOn(command, { ...given, env, cwd, act, progress }).finally(progress.end);
    },
  );
  const wantsJson = words.includes('--json');
  const subject = tool.commands.find(({ name }) => name.split(' ')[0] === first)?.name.split(' ')[0];
  try {
    // Beside --help, a subject that does not exist would go unnoticed.
    const isTypo = first !== undefined && first !== 'help' && !first.startsWith('-') && subject === undefined;
    await parser.parseAsync(isTypo ? [first] : [...words], { from: 'user' });
    const { json, lines, isBad, code } = answer ?? { json: null, lines: [] };
    const shown = wantsJson ? [JSON.stringify(json, null, 2)] : lines;
    const { out, ...rest } = ended(tool, code ?? (isBad ? EXIT.failed : EXIT.done), shown);
    return { ...rest, out: wantsJson ? out : onScreen(out) };
  } catch (error) {
    if (error instanceof CommanderError && help !== '')
      return { code: error.exitCode === 0 ? EXIT.done : EXIT.usage, out: onScreen(help), err: '' };
    const fault = error instanceof CommanderError ? usage(error.message.replace(/^error: /, '')) : error;
    if (!(fault instanceof Fault)) throw error;
    const { code, message } = fault;
    const json = wantsJson ? [JSON.stringify({ error: { code, message } }, null, 2)] : [];
    const hint =
      code === 'usage' ? [`see \`${[tool.name, named?.name ?? subject ?? ''].join(' ').trim()} --help\``] : [];
    return ended(tool, exitCode(fault), json, [message, ...hint]);
  }
}

const onScreen = (text: string): string =>
  text
    .split('\n')
    .flatMap((line) => wrapped(line))
    .join('\n');

function ended({ name }: Tool, code: number, lines: readonly string[], complaints: readonly string[] = []): Ended {
  const safe = (text: string) => text.split('\n').map(printable).join('\n');
  const prefix = styleText('red', `${name}:`, { stream: process.stderr });
  return {
    code,
    out: lines.map((line) => `${safe(line)}\n`).join(''),
    err: complaints.map((line) => `${prefix} ${safe(line)}\n`).join(''),
  };
}

async function runOn(command: AnyCommand, input: Input): Promise<Answer> {
  if ('runOffline' in command) return command.runOffline(input);
  const { env, cwd } = input;
  const config = loadConfig({ env, cwd });
  // The upgrade of an older database is left to `npm start`, which makes sure that nothing else uses it.
  if (config.databaseUrl === null && !existsSync(databaseFile(config.dataDir))) {
    if (!command.createsInstallation || input.options.dryRun === true) throw noInstallation(config.dataDir);
    await prepareDatabase(config, env);
  }
  const database = openDatabase(config, env);
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
  if (['usage', 'config_invalid', 'cannot_start', 'no_installation'].includes(fault.code)) return EXIT.usage;
  return fault.code === 'not_found' ? EXIT.notFound : EXIT.failed;
}
