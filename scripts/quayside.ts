/**
 * The operator's tool: `npx quayside <command>`. Works on the installation that the configuration names, running or not.
 *
 * Exit codes: 0 done · 1 refused or failed · 2 called wrongly or wrongly configured · 3 what was named does not exist.
 * @module
 */
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { openDatabase, prepareDatabase } from '../src/app/open-database.ts';
import { loadConfig } from '../src/config/config.ts';
import { Fault } from '../src/core/fault.ts';
import { systemClock } from '../src/lib/clock.ts';
import { databaseFile } from '../src/lib/secret-key.ts';
import { addressPoolDerive, addressPoolImport } from './cli/address-pool.ts';
import { type Command, type Input, type OfflineCommand, type Option, table, usage } from './cli/command.ts';
import { keyCreate, keyList, keyRevoke } from './cli/key.ts';
import { ledgerVerify } from './cli/ledger.ts';
import { signerOperatorKey } from './cli/operator-key.ts';
import { pay } from './cli/pay.ts';
import { payoutsAdopt, payoutsList, payoutsResume, payoutsShow } from './cli/payouts.ts';
import { refundsApprove, refundsList, refundsPolicy, refundsReject, refundsShow } from './cli/refunds.ts';
import { sessionShow } from './cli/session.ts';
import { signerChangePassphrase, signerImport, signerInit, signerShow } from './cli/signer.ts';
import { signerDrill } from './cli/signer-drill.ts';
import { status } from './cli/status.ts';
import { storeCreate, storeList } from './cli/store.ts';
import { storePage } from './cli/store-page.ts';
import { sweepPlan, sweepRun, sweepStatus } from './cli/sweep.ts';
import {
  webhooksAdd,
  webhooksAttempts,
  webhooksEnable,
  webhooksList,
  webhooksRemove,
  webhooksResend,
} from './cli/webhooks.ts';

const commands: readonly (Command | OfflineCommand)[] = [
  status,
  storeCreate,
  storeList,
  storePage,
  keyCreate,
  keyList,
  keyRevoke,
  sessionShow,
  pay,
  webhooksList,
  webhooksAdd,
  webhooksRemove,
  webhooksEnable,
  webhooksResend,
  webhooksAttempts,
  refundsList,
  refundsShow,
  refundsApprove,
  refundsReject,
  refundsPolicy,
  payoutsList,
  payoutsShow,
  payoutsResume,
  payoutsAdopt,
  sweepPlan,
  sweepRun,
  sweepStatus,
  ledgerVerify,
  addressPoolDerive,
  addressPoolImport,
  signerInit,
  signerImport,
  signerShow,
  signerChangePassphrase,
  signerOperatorKey,
  signerDrill,
];

const everywhere: Readonly<Record<string, Option>> = {
  json: { help: 'answer as JSON on standard output' },
  help: { help: 'show this text' },
};

const EXIT = { done: 0, failed: 1, usage: 2, notFound: 3 } as const;

/** Programs of their own, which work without an installation: each gets the words after its name and returns the exit code. */
const programs: Readonly<Record<string, { summary: string; run(words: readonly string[]): Promise<number> }>> = {
  'tron-ws': {
    summary: 'Offer a WebSocket beside a java-tron node; runs on the node’s machine.',
    run: async (words) => (await import('./cli/tron-ws.ts')).runTronWs(words),
  },
};

async function main(words: readonly string[]): Promise<number> {
  const program = programs[words[0] ?? ''];
  if (program) return program.run(words.slice(1));
  const command = commands.find(({ name }) => name === words.slice(0, name.split(' ').length).join(' '));
  const wantsHelp = words.includes('--help') || words.includes('-h') || words[0] === 'help';
  if (!command) {
    print(overview());
    if (words.length > 0 && !wantsHelp) complain(`there is no command "${words.slice(0, 2).join(' ')}"`);
    return wantsHelp ? EXIT.done : EXIT.usage;
  }
  if (wantsHelp) {
    print(help(command));
    return EXIT.done;
  }
  try {
    const input = readInput(command, words.slice(command.name.split(' ').length));
    const { json, lines, isBad } = await runOn(command, input);
    print(input.options.json ? [JSON.stringify(json, null, 2)] : lines);
    return isBad ? EXIT.failed : EXIT.done;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    if (words.includes('--json'))
      print([JSON.stringify({ error: { code: error.code, message: error.message } }, null, 2)]);
    complain(error.message);
    if (error.code === 'usage') complain(`usage: ${usageLine(command)}`);
    return exitCode(error);
  }
}

async function runOn(command: Command | OfflineCommand, input: Input) {
  if ('runOffline' in command) return command.runOffline(input);
  const config = loadConfig({ env: process.env, cwd: process.cwd(), beforeSandbox: !command.needsSandbox });
  // A new installation gets its database here; an older one is left to `npm start`, which knows that nobody else runs.
  if (!existsSync(databaseFile(config.dataDir))) prepareDatabase(config, process.env);
  const database = openDatabase(config, process.env);
  try {
    return await command.run(input, { config, database, clock: systemClock });
  } finally {
    database.close();
  }
}

/** @throws Fault permanent `usage` */
function readInput(command: Command | OfflineCommand, words: string[]): Input {
  const options = Object.fromEntries(
    Object.entries({ ...command.options, ...everywhere }).map(([name, option]) => [
      name,
      { type: option.value ? ('string' as const) : ('boolean' as const) },
    ]),
  );
  const { values, positionals } = parse(words, options);
  const missing = command.args[positionals.length];
  if (missing) throw usage(`<${missing}> is missing`);
  if (positionals.length > command.args.length)
    throw usage(`"${positionals[command.args.length]}" is one word too many`);
  return { args: positionals, options: values };
}

function parse(args: string[], options: Record<string, { type: 'string' | 'boolean' }>) {
  try {
    return parseArgs({ args, options, allowPositionals: true, strict: true });
  } catch (error) {
    throw usage(error instanceof Error ? error.message : String(error));
  }
}

function exitCode(fault: Fault): number {
  if (fault.code === 'usage' || fault.code === 'config_invalid') return EXIT.usage;
  return fault.code === 'not_found' ? EXIT.notFound : EXIT.failed;
}

const usageLine = ({ name, args, options }: Command | OfflineCommand): string =>
  [
    'quayside',
    name,
    ...args.map((arg) => `<${arg}>`),
    ...Object.entries(options).map(([option, { value }]) => `[--${option}${value ? ` ${value}` : ''}]`),
  ].join(' ');

const help = (command: Command | OfflineCommand): string[] => [
  command.summary,
  '',
  `  ${usageLine(command)}`,
  '',
  ...table(
    Object.entries({ ...command.options, ...everywhere }).map(([name, { value, help: text }]) => [
      `  --${name}${value ? ` ${value}` : ''}`,
      text,
    ]),
  ),
];

const overview = (): string[] => [
  'quayside: the operator’s tool of a Quayside installation',
  '',
  ...table([
    ...commands.map(({ name, args, summary }) => [`  ${name}${args.map((arg) => ` <${arg}>`).join('')}`, summary]),
    ...Object.entries(programs).map(([name, { summary }]) => [`  ${name}`, summary]),
  ]),
  '',
  'Each takes --json and --help. QUAYSIDE_CONFIG and QUAYSIDE_DATA_DIR say which installation.',
  'Exit codes: 0 done, 1 refused or failed, 2 called wrongly or wrongly configured, 3 what was named does not exist.',
];

function print(lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}

function complain(line: string): void {
  process.stderr.write(`quayside: ${line}\n`);
}

process.exitCode = await main(process.argv.slice(2));
