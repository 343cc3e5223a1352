/**
 * The `quayside` command as a function: finds the command, reads its options, runs it and returns what to print.
 * `scripts/quayside.ts` is the program around it.
 *
 * Exit codes: 0 done · 1 refused or failed · 2 wrong usage or configuration · 3 what was named does not exist.
 * @module
 */
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { openDatabase } from '../../src/app/open-database.ts';
import { prepareDatabase } from '../../src/app/prepare-database.ts';
import { loadConfig } from '../../src/config/config.ts';
import { printable } from '../../src/core/excerpt.ts';
import { Fault, permanent } from '../../src/core/fault.ts';
import { refuseStaleBuild } from '../../src/lib/build-stamp.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { readShipped } from '../../src/lib/installation.ts';
import { databaseFile } from '../../src/lib/secret-key.ts';
import { addressPoolDerive, addressPoolImport } from './address-pool.ts';
import { alarmsAcknowledge, alarmsList, alarmsResolve } from './alarms.ts';
import { auditList } from './audit.ts';
import { backup, backupVerify, restore } from './backup.ts';
import { type Command, type Input, type OfflineCommand, operatorAct, textOption, usage } from './command.ts';
import { doctor } from './doctor.ts';
import { eventsList, eventsShow } from './events.ts';
import { explain } from './explain.ts';
import { exportFees, exportPayments, exportRefunds, exportSweeps } from './export.ts';
import { heldAccept, heldList, heldShow } from './held.ts';
import { heldReturn } from './held-return.ts';
import { commandHelp, everywhere, groupHelp, type Listed, overview, unknownCommand, usageLine } from './help.ts';
import { keyCreate, keyList, keyRevoke, keyShow } from './key.ts';
import { ledgerVerify } from './ledger.ts';
import { networksList, networksReread, networksRewind, networksShow, networksSkip } from './networks.ts';
import { nodeCheck } from './node-check.ts';
import { nodeConnect } from './node-connect.ts';
import { nodeSync } from './node-sync.ts';
import { notifyAdd, notifyList, notifyProve, notifyRemove, notifyTest } from './notify.ts';
import { signerOperatorKey } from './operator-key.ts';
import { pay } from './pay.ts';
import { payoutsFreeze, payoutsThaw } from './payout-freeze.ts';
import { payoutsOutgoing } from './payout-outgoing.ts';
import { payoutsResume } from './payout-resume.ts';
import { payoutsSettle } from './payout-settle.ts';
import { payoutsAdopt, payoutsList, payoutsShow } from './payouts.ts';
import {
  refundsApprove,
  refundsDestination,
  refundsList,
  refundsPolicy,
  refundsReject,
  refundsRequest,
  refundsShow,
} from './refunds.ts';
import { secretKeyRetire, secretKeyRotate, secretKeyStatus } from './secret-key.ts';
import { sessionShow } from './session.ts';
import { signerChangePassphrase, signerImport, signerInit, signerShow } from './signer.ts';
import { signerApprove } from './signer-approve.ts';
import { signerBackup, signerRestore } from './signer-backup.ts';
import { signerDrill } from './signer-drill.ts';
import { signerFreeze, signerThaw } from './signer-freeze.ts';
import { signerPolicyAdd } from './signer-policy-add.ts';
import { status } from './status.ts';
import { storeCreate, storeList, storeUpdate } from './store.ts';
import { storeApprove, storeRefuse } from './store-approve.ts';
import { storePage } from './store-page.ts';
import { storeResume, storeSuspend } from './store-suspend.ts';
import { supportBundle } from './support-bundle.ts';
import { sweepPlan, sweepRun, sweepStatus } from './sweep.ts';
import { trigger } from './trigger.ts';
import { userCreate, userList, userRemove, userReset, userRole } from './user.ts';
import { walletList } from './wallet.ts';
import { webhooksRecover, webhooksShow } from './webhook-recovery.ts';
import { webhooksRotate, webhooksSecret } from './webhook-secrets.ts';
import { webhooksTest } from './webhook-test.ts';
import {
  webhooksAdd,
  webhooksAttempts,
  webhooksEnable,
  webhooksList,
  webhooksRemove,
  webhooksResend,
} from './webhooks.ts';

export const commands: readonly (Command | OfflineCommand)[] = [
  status,
  doctor,
  supportBundle,
  explain,
  alarmsList,
  alarmsAcknowledge,
  alarmsResolve,
  notifyAdd,
  notifyProve,
  notifyTest,
  notifyList,
  notifyRemove,
  networksList,
  networksShow,
  networksRewind,
  networksReread,
  networksSkip,
  nodeCheck,
  nodeConnect,
  nodeSync,
  storeCreate,
  storeUpdate,
  storeList,
  storeApprove,
  storeRefuse,
  storeSuspend,
  storeResume,
  storePage,
  keyCreate,
  keyList,
  keyShow,
  keyRevoke,
  userCreate,
  userReset,
  userRole,
  userRemove,
  userList,
  sessionShow,
  pay,
  heldList,
  heldShow,
  heldAccept,
  heldReturn,
  webhooksList,
  webhooksAdd,
  webhooksRemove,
  webhooksEnable,
  webhooksResend,
  webhooksAttempts,
  webhooksTest,
  webhooksShow,
  webhooksRecover,
  eventsList,
  eventsShow,
  trigger,
  webhooksSecret,
  webhooksRotate,
  refundsList,
  refundsShow,
  refundsRequest,
  refundsApprove,
  refundsReject,
  refundsDestination,
  refundsPolicy,
  payoutsList,
  payoutsShow,
  payoutsResume,
  payoutsSettle,
  payoutsAdopt,
  payoutsFreeze,
  payoutsThaw,
  walletList,
  payoutsOutgoing,
  sweepPlan,
  sweepRun,
  sweepStatus,
  ledgerVerify,
  exportPayments,
  exportRefunds,
  exportSweeps,
  exportFees,
  secretKeyStatus,
  secretKeyRotate,
  secretKeyRetire,
  auditList,
  backupVerify,
  backup,
  restore,
  addressPoolDerive,
  addressPoolImport,
  signerInit,
  signerImport,
  signerShow,
  signerChangePassphrase,
  signerBackup,
  signerRestore,
  signerPolicyAdd,
  signerOperatorKey,
  signerApprove,
  signerFreeze,
  signerThaw,
  signerDrill,
];

const EXIT = { done: 0, failed: 1, usage: 2, notFound: 3 } as const;

/** Separate programs, which need no installation. Each gets the words after its name and returns the exit code. */
const programs: Readonly<Record<string, { summary: string; run(words: readonly string[]): Promise<number> }>> = {
  listen: {
    summary: 'Forward test events to a handler on this machine, signed like webhooks.',
    run: async (words) => (await import('./listen-program.ts')).runListen(words),
  },
  'tron-ws': {
    summary: 'Serve a WebSocket for a java-tron node, on the node’s machine.',
    run: async (words) => (await import('./tron-ws.ts')).runTronWs(words),
  },
};

/** The result of a run: its exit code, and what to write to standard output and standard error. */
type Ended = Readonly<{ code: number; out: string; err: string }>;

/**
 * Runs one command. Questions and progress go directly to the terminal of the process.
 * @param words the command line after `quayside`
 * @param cwd the folder that relative paths start from
 * @throws every error that is not a Fault: a bug
 */
export async function runTool(words: readonly string[], env: NodeJS.ProcessEnv, cwd: string): Promise<Ended> {
  const program = programs[words[0] ?? ''];
  if (program) return { code: await program.run(words.slice(1)), out: '', err: '' };
  if (words[0] === '--version')
    return ended(EXIT.done, [`quayside ${readShipped<{ version: string }>('package.json').version}`]);
  const wantsHelp = words.includes('--help') || words.includes('-h') || words[0] === 'help';
  const named = words.filter((word) => !['help', '--help', '-h'].includes(word));
  const command = commands.find(({ name }) => name === named.slice(0, name.split(' ').length).join(' '));
  if (!command) return withoutCommand(wantsHelp, named);
  if (wantsHelp) {
    const group = groupHelp(listed, command.name);
    return ended(EXIT.done, [...commandHelp(command), ...(group ? ['', ...group] : [])]);
  }
  try {
    refuseStaleBuild();
    const input = { ...readInput(command, words.slice(command.name.split(' ').length)), env, cwd };
    const { json, lines, isBad, code } = await runOn(command, input);
    return ended(
      code ?? (isBad ? EXIT.failed : EXIT.done),
      input.options.json ? [JSON.stringify(json, null, 2)] : lines,
    );
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const { code, message } = error;
    const json = words.includes('--json') ? [JSON.stringify({ error: { code, message } }, null, 2)] : [];
    return ended(exitCode(error), json, [message, ...(code === 'usage' ? [`usage: ${usageLine(command)}`] : [])]);
  }
}

/** Every command and program that the help lists. */
const listed: readonly Listed[] = [
  ...commands,
  ...Object.entries(programs).map(([name, { summary }]) => ({ name, summary })),
];

/** Answers words that name no command: a group of commands, nothing at all, or a typo. */
function withoutCommand(wantsHelp: boolean, named: readonly string[]): Ended {
  const group = named.length === 1 || wantsHelp ? groupHelp(listed, named[0] ?? '') : null;
  if (group) return ended(wantsHelp ? EXIT.done : EXIT.usage, group);
  if (named.length === 0) return ended(wantsHelp ? EXIT.done : EXIT.usage, overview(listed));
  return ended(EXIT.usage, [], [unknownCommand(listed, named)]);
}

function ended(code: number, lines: readonly string[], complaints: readonly string[] = []): Ended {
  const text = (all: readonly string[]) => all.map((one) => `${one.split('\n').map(printable).join('\n')}\n`).join('');
  return { code, out: text(lines), err: text(complaints.map((line) => `quayside: ${line}`)) };
}

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
    `there is no installation in ${dataDir}; check QUAYSIDE_DATA_DIR and QUAYSIDE_CONFIG, or make one there with \`npm start\` or \`quayside store create <name>\``,
  );

/** @throws Fault permanent `usage` */
function readInput(command: Command | OfflineCommand, words: string[]): Pick<Input, 'args' | 'options'> {
  const options = Object.fromEntries(
    Object.entries({ ...command.options, ...everywhere }).map(([name, option]) => [
      name,
      { type: option.value ? ('string' as const) : ('boolean' as const) },
    ]),
  );
  const { values, positionals } = parse(words, options);
  const missing = command.args[positionals.length];
  if (missing) throw usage(`<${missing}> is missing`);
  const excess = positionals[command.args.length + (command.optionalArgs?.length ?? 0)];
  if (excess !== undefined) throw usage(`unexpected argument "${excess}"`);
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
  if (['usage', 'config_invalid', 'build_stale', 'cannot_start', 'no_installation'].includes(fault.code))
    return EXIT.usage;
  return fault.code === 'not_found' ? EXIT.notFound : EXIT.failed;
}
