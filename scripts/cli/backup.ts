/**
 * Makes, proves and restores backups.
 */
import { dirname, resolve } from 'node:path';
import { readPassphrase } from '../../src/app/backup/archive.ts';
import { type Restored, restoreBackup } from '../../src/app/backup/restore.ts';
import { runScheduledBackup } from '../../src/app/backup/scheduled.ts';
import { proveBackup } from '../../src/app/backup/unpacked.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import {
  type Answer,
  type Command,
  type Input,
  moment,
  type OfflineCommand,
  type Option,
  reasonOption,
  recordAnswer,
  textOption,
  usage,
} from './command.ts';
import { askNewPassphrase, withSecret, withTerminal } from './terminal.ts';

export const passphraseOption: Option = {
  value: 'FILE',
  help: 'read the passphrase from the first line of a file that only you can read; without it, you are asked',
};

export const backup: Command = {
  name: 'backup',
  summary: 'Write an encrypted backup now: database, keys, settings and the signer’s part, restored on trial at once.',
  options: { reason: reasonOption },
  notes: [
    'It is written as the settings `backup` say, like that of every night, and everything goes on meanwhile. It never ' +
      'holds the signer’s seed: keep the seed phrase on paper, and the passphrase of backups elsewhere. For a while it ' +
      'needs twice the space of the database in the data folder.',
  ],
  async run(input, { config, database: { audit }, clock }) {
    const { act } = input;
    input.progress.show('packing the backup, and restoring it on trial');
    const parts = { config, env: input.env, act, clock, log: openLog('backup', config.logLevel) };
    const made = await runScheduledBackup({ ...parts, audit });
    const { file, bytes, files, deleted, isSent, signerFault } = made;
    return recordAnswer(
      { file, bytes, made_at: moment(act.atMs), files, proved: true, sent: isSent, deleted },
      signerFault === null ? [] : [`The signer’s part is missing: ${signerFault}`],
      signerFault !== null,
    );
  },
};

async function checkBackup(input: Input, file: string): Promise<Answer> {
  const { manifest, files, ledgerEntries, problems } = await withPassphrase(input, false, (passphrase) =>
    proveBackup(file, dirname(file), passphrase),
  );
  const madeAt = moment(manifest.made_at_ms);
  const isSound = problems.length === 0;
  return recordAnswer(
    { file, sound: isSound, made_at: madeAt, files, ledger_entries: ledgerEntries, problems },
    isSound ? [] : ['THE BACKUP IS NOT SOUND.'],
    !isSound,
  );
}

export const restore: OfflineCommand = {
  name: 'restore',
  args: '<file> [folder]',
  summary: 'Restore a backup as a new data folder, with money out frozen.',
  options: {
    passphraseFile: passphraseOption,
    dryRun: {
      help: 'restore it on trial beside the file, check the database and the ledger, and remove that again',
    },
    reason: reasonOption,
  },
  notes: [
    'At the first start, addresses that may have been given out since the backup are retired: they stay watched, ' +
      'and nobody gets them again.',
    '--dry-run: exit code 1 if the backup is damaged, or what it holds does not add up.',
  ],
  async runOffline(input) {
    const [file = '', folder] = input.args.map((path) => resolve(input.cwd, path));
    const isDryRun = input.options.dryRun === true;
    if ((folder === undefined) !== isDryRun) throw usage('name a new folder, or --dry-run');
    if (folder === undefined) return checkBackup(input, file);
    const restored = await withPassphrase(input, false, (passphrase) =>
      restoreBackup({ file, folder, passphrase, clock: systemClock, act: input.act }),
    );
    const { manifest, files } = restored;
    return recordAnswer({ folder, made_at: moment(manifest.made_at_ms), files, payouts_frozen: true }, [
      'Money out is frozen. Before you thaw it:',
      ...beforeThaw(restored, folder).map((step, at) => `  ${at + 1}. ${step}`),
    ]);
  },
};

/** Returns the steps of a person after a restore. */
const beforeThaw = ({ files, networks }: Restored, folder: string): readonly string[] => [
  'Make sure that the old installation does not run any more.',
  ...(files.includes('settings.json')
    ? [`Compare ${folder}/settings.json with your settings; \`data_dir\` is ${folder}.`]
    : []),
  ...(files.includes('signer.backup')
    ? [
        `Only if the signer’s folder is lost: quayside-signer restore ${folder}/signer.backup, which asks for the seed phrase.`,
      ]
    : []),
  'Start, and wait until `quayside status` shows every network as following; sessions offer no other.',
  ...networks.map((key) => `If it pays out: quayside payout reconcile ${key} --reason …`),
  'quayside payout thaw --reason "compared with the chain"',
];

/** Gives `work` the passphrase, and wipes it. @throws Fault permanent `not_found`, `passphrase_file_open` */
export async function withPassphrase<T>(
  input: Input,
  isNew: boolean,
  work: (passphrase: Buffer) => Promise<T>,
): Promise<T> {
  const named = textOption(input, 'passphraseFile');
  const what = 'Passphrase of the backup';
  const ask = () =>
    withTerminal((terminal) =>
      isNew ? askNewPassphrase(terminal, what) : terminal.askHidden(`${what} (not shown): `),
    );
  return withSecret(named === undefined ? ask() : readPassphrase(resolve(input.cwd, named)), work);
}
