/**
 * Makes, proves and restores backups.
 */
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { readPassphrase } from '../../src/app/backup/archive.ts';
import { makeBackup, writeSignerPart } from '../../src/app/backup/make.ts';
import { rememberBackup, rememberProof } from '../../src/app/backup/report.ts';
import { type Restored, restoreBackup } from '../../src/app/backup/restore.ts';
import { runScheduledBackup } from '../../src/app/backup/scheduled.ts';
import { proveBackup } from '../../src/app/backup/unpacked.ts';
import { sandboxFiles } from '../../src/app/sandbox-credentials.ts';
import { loadConfig } from '../../src/config/config.ts';
import { Fault } from '../../src/core/fault.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import { databaseFile } from '../../src/lib/secret-key.ts';
import {
  type Answer,
  type Command,
  type Input,
  type Installation,
  moment,
  type OfflineCommand,
  type Option,
  operatorAct,
  reasonOption,
  textOption,
  usage,
  wholeOption,
} from './command.ts';
import { mebibytes, openProgress } from './output.ts';
import { table } from './table.ts';
import { askNewPassphrase, withTerminal } from './terminal.ts';

const INDEX_MAX = 2 ** 31 - 1;
export const passphraseOption: Option = {
  value: 'FILE',
  help: 'read the passphrase from the first line of a file that only you can read; without it, you are asked',
};

export const backup: Command = {
  name: 'backup',
  args: [],
  summary: 'Write one encrypted backup of database, keys, settings and the signer’s part, while everything runs.',
  options: {
    to: {
      value: 'FOLDER',
      help: 'where the file is written; without it, as the settings `backup` say, like every night',
    },
    'passphrase-file': passphraseOption,
    'without-signer': { help: 'leave out the signer’s part, if the signer does not run' },
    prove: { help: 'restore it into a scratch folder at once and check it, as `restore --check` does' },
    reason: reasonOption,
  },
  notes: [
    'It never holds the signer’s seed: keep the seed phrase on paper, and the passphrase of backups elsewhere.',
    'For a while it needs as much space in the data folder as the database.',
  ],
  async run(input, installation) {
    const { config, database, clock } = installation;
    const to = textOption(input, 'to');
    if (to === undefined) return runAsConfigured(input, installation);
    const signer = input.options['without-signer'] === true ? null : config.signer;
    const act = operatorAct(backup, input, clock);
    const progress = openProgress();
    const { file, bytes, manifest, proof } = await withPassphrase(input, true, async (passphrase) => {
      try {
        const made = await makeBackup(resolve(input.cwd, to), {
          config,
          env: input.env,
          settingsFile: input.env.QUAYSIDE_CONFIG ? resolve(input.cwd, input.env.QUAYSIDE_CONFIG) : null,
          signerPart: signer && ((path) => writeSignerPart(signer, path, (done) => progress.show(received(done)))),
          passphrase,
          nowMs: act.atMs,
          onProgress: (done, total) => progress.show(`packed ${mebibytes(done)} of ${mebibytes(total)}`),
        });
        progress.end();
        const isWanted = input.options.prove === true;
        return { ...made, proof: isWanted ? await prove(made.file, config.dataDir, passphrase) : null };
      } finally {
        progress.end();
      }
    });
    const names = manifest.files.map(({ name }) => name);
    const isBad = proof?.isBad === true;
    const provedAtMs = proof && !isBad ? clock.nowMs() : null;
    if (!isBad) {
      rememberBackup(config.dataDir, { file, made_at_ms: act.atMs, proved_at_ms: provedAtMs, sent_at_ms: null });
    }
    await database.audit.record(act, {
      target: file,
      before: null,
      after: { bytes, files: names.join(' ') },
    });
    return {
      json: {
        ...{ file, bytes, made_at: moment(manifest.made_at_ms), files: names, sessions: manifest.counts.sessions },
        proved: proof ? !isBad : null,
      },
      lines: [
        `wrote ${file}: ${mebibytes(bytes)} with ${names.join(', ')}`,
        ...(config.signer && !signer ? ['The signer’s part is missing: run `quayside-signer backup` too.'] : []),
        ...(proof ? proof.lines : [`Prove it: quayside restore ${file} --check`]),
      ],
      isBad,
    };
  },
};

/** Does what happens every night. @throws Fault permanent `usage`; see `runScheduledBackup` */
async function runAsConfigured(input: Input, { config, database, clock }: Installation): Promise<Answer> {
  const [given] = ['prove', 'passphrase-file', 'without-signer'].filter((name) => name in input.options);
  if (given) throw usage(`--${given} needs --to; without it, the settings \`backup\` say what is done`);
  const progress = openProgress();
  const act = operatorAct(backup, input, clock);
  const onProgress = (done: number, total: number) => progress.show(`packed ${mebibytes(done)} of ${mebibytes(total)}`);
  const onReceived = (done: number) => progress.show(received(done));
  const log = openLog('backup', config.logLevel);
  try {
    const parts = { config, audit: database.audit, env: input.env, act, clock, log, onProgress, onReceived };
    const { file, bytes, files, sessions, deleted, isSent, signerFault } = await runScheduledBackup(parts);
    return {
      json: { file, bytes, made_at: moment(act.atMs), files, sessions, proved: true, sent: isSent, deleted },
      lines: [
        `wrote ${file}: ${mebibytes(bytes)} with ${files.join(', ')}; it is sound${isSent ? ', and was sent' : ''}`,
        ...(signerFault === null ? [] : [`The signer’s part is missing: ${signerFault}`]),
        ...(deleted.length > 0 ? [`deleted ${deleted.join(', ')}`] : []),
      ],
      isBad: signerFault !== null,
    };
  } finally {
    progress.end();
  }
}

async function checkBackup(input: Input, file: string): Promise<Answer> {
  const parent = resolve(input.cwd, textOption(input, 'scratch') ?? dirname(file));
  const proof = await withPassphrase(input, false, (passphrase) => prove(file, parent, passphrase));
  const dataDir = proof.isBad ? null : installationOf(input);
  if (dataDir !== null) rememberProof(dataDir, proof.madeAtMs, systemClock.nowMs());
  return proof;
}

/** Returns the data folder of the installation on this machine; null where there is none. */
function installationOf({ env, cwd }: Input): string | null {
  try {
    const { dataDir } = loadConfig({ env, cwd, beforeSandbox: true });
    return existsSync(databaseFile(dataDir)) ? dataDir : null;
  } catch (error) {
    if (error instanceof Fault) return null;
    throw error;
  }
}

/** Restores a backup into a scratch folder within `parent`, and checks it. */
export async function prove(file: string, parent: string, passphrase: Uint8Array) {
  const { manifest, ledgerEntries, problems } = await proveBackup(file, parent, passphrase);
  const { made_at_ms, counts, files } = manifest;
  const names = files.map(({ name }) => name);
  const isSound = problems.length === 0;
  return {
    madeAtMs: made_at_ms,
    json: { file, sound: isSound, made_at: moment(made_at_ms), files: names, counts, problems },
    lines: [
      `${file} of ${moment(made_at_ms)}: ${names.join(', ')}`,
      `${counts.sessions ?? 0} sessions, ${counts.transfers ?? 0} transfers, ${ledgerEntries} ledger entries`,
      ...(isSound
        ? ['The database is whole, every table has as many rows as it had, and the ledger adds up.']
        : ['THE BACKUP IS NOT SOUND:', ...problems.map((problem) => `  ${problem}`)]),
    ],
    isBad: !isSound,
  };
}

export const restore: OfflineCommand = {
  name: 'restore',
  args: ['file'],
  optionalArgs: ['folder'],
  summary: 'Restore a backup as a new data folder: retires addresses that may have been given since, freezes payouts.',
  options: {
    'passphrase-file': passphraseOption,
    check: { help: 'restore it into a scratch folder, check the database and the ledger, and remove the folder' },
    scratch: { value: 'FOLDER', help: 'with --check: where the scratch folder is made (default: beside the file)' },
    through: { value: 'INDEX', help: 'retire the addresses of every pool through this one, instead of an estimate' },
    reason: reasonOption,
  },
  notes: [
    'The estimate, beyond what the backup gave out: the pool’s target, or three times its busiest day for each day',
    'since, whichever is more. Retired addresses stay watched; nobody gets them again.',
    '--check: exit code 1 if the backup is damaged, or what it holds does not add up.',
  ],
  async runOffline(input) {
    const [file = '', folder] = input.args.map((path) => resolve(input.cwd, path));
    const isCheck = input.options.check === true;
    if ((folder === undefined) !== isCheck) throw usage('name a new folder, or --check');
    if (folder === undefined) return checkBackup(input, file);
    const isNamed = textOption(input, 'through') !== undefined;
    const restored = await withPassphrase(input, false, (passphrase) =>
      restoreBackup({
        ...{ file, folder, passphrase, clock: systemClock, log: openLog('restore', 'silent') },
        throughIndex: isNamed ? wholeOption(input, 'through', 0, INDEX_MAX, 0) : null,
        act: operatorAct(restore, input, systemClock),
      }),
    );
    const { manifest, retired, files } = restored;
    return {
      json: { folder, made_at: moment(manifest.made_at_ms), files, retired, payouts_frozen: true },
      lines: [`restored the backup of ${moment(manifest.made_at_ms)} in ${folder}`, '', ...nextSteps(restored, folder)],
    };
  },
};

function nextSteps(restored: Restored, folder: string): string[] {
  const rows = restored.retired.map(({ family, mode, source, from, through }) => [
    ...[family, mode, source],
    through === from ? 'none' : `${from} to ${through - 1}`,
  ]);
  return [
    ...table([['POOL', 'MODE', 'SOURCE', 'RETIRED NUMBERS'], ...rows]),
    '',
    'They stay watched: money that reaches one raises the alarm `payment_without_session`.',
    'Money out is frozen. Before you thaw it:',
    ...beforeThaw(restored, folder).flatMap(([first, ...more], at) => [
      `  ${at + 1}. ${first}`,
      ...more.map((line) => `     ${line}`),
    ]),
  ];
}

/** Returns the steps of a person after a restore, in lines. */
function beforeThaw({ files, manifest, networks }: Restored, folder: string): readonly (readonly string[])[] {
  const chains = [
    `Copy ${sandboxFiles.join(', ')} from the old data folder to ${folder}.`,
    'The simulated chains and their seed are in no backup, and nothing starts without them.',
  ];
  const settings = [`Compare ${folder}/settings.json with your settings; \`data_dir\` is ${folder}.`];
  const signer = [
    `If the signer’s folder is lost: quayside-signer restore ${folder}/signer.backup; it asks for the seed phrase.`,
    'If it is not lost, keep it: its journal is newer.',
  ];
  return [
    ['Make sure that the old installation does not run any more.'],
    ...(manifest.sandbox ? [chains] : []),
    ...(files.includes('settings.json') ? [settings] : []),
    ...(files.includes('signer.backup') ? [signer] : []),
    ['Start, and wait until `quayside status` shows every network as following; sessions offer no other.'],
    [
      'On each network that pays out, take over what the signer knows, and look at what left the wallets since:',
      ...networks.map((key) => `quayside payout reconcile ${key} --reason …`),
    ],
    ['quayside payout thaw --reason "compared with the chain"'],
  ];
}

/** Gives `work` the passphrase, and wipes it. @throws Fault permanent `not_found`, `passphrase_file_open` */
export async function withPassphrase<T>(
  input: Input,
  isNew: boolean,
  work: (passphrase: Buffer) => Promise<T>,
): Promise<T> {
  const named = textOption(input, 'passphrase-file');
  const what = 'Passphrase of the backup';
  const passphrase =
    named !== undefined
      ? readPassphrase(resolve(input.cwd, named))
      : await withTerminal((terminal) =>
          isNew ? askNewPassphrase(terminal, what) : terminal.askHidden(`${what} (not shown): `),
        );
  try {
    return await work(passphrase);
  } finally {
    passphrase.fill(0);
  }
}

const received = (bytes: number): string => `received ${mebibytes(bytes)} from the signer`;
