/**
 * Backs up the signer's journal and policy, and restores them into a new folder.
 */
import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';
import { systemClock } from '../../src/lib/clock.ts';
import { counted } from '../../src/lib/parts.ts';
import { openConfiguredSigner } from '../../src/signer/client.ts';
import { fingerprintOf } from '../../src/signer/keystore.ts';
import { refuseExistingSigner, restoreSigner } from '../../src/signer/setup.ts';
import { moment, notFound, type OfflineCommand, textOption, usage } from './command.ts';
import { toNewFile, toStandardOutput } from './output.ts';
import { mebibytes, openProgressLine } from './progress.ts';
import { askMnemonic, askNewPassphrase, dirOption, filesOf, withTerminal } from './signer.ts';

export const signerBackup: OfflineCommand = {
  name: 'backup',
  args: [],
  summary: 'Write an encrypted backup of the running signer’s journal and policy; it goes on signing meanwhile.',
  options: {
    dir: dirOption,
    output: { value: 'FILE', help: 'write to a new file that only you can read (default: standard output)' },
  },
  notes: [
    'It holds neither the seed nor the keystore. Only the seed phrase opens it, with `quayside-signer restore`.',
    'Back up the database with it: `quayside backup` makes one file of both. A file of --output is always whole; what was',
    'redirected is not if the exit code is 1. --json prints a summary beside the file, and needs --output.',
  ],
  async runOffline(input) {
    const output = textOption(input, 'output');
    if (output === undefined && (input.options.json || process.stdout.isTTY)) {
      throw usage('a backup is not text: name a file with --output, or redirect it to one');
    }
    const signer = openConfiguredSigner({ dir: filesOf(input).dir });
    const progress = openProgressLine(process.stderr);
    let bytes = 0;
    const parts = counted(signer.backup(), (done) => {
      bytes = done;
      progress.show(`received ${mebibytes(done)} from the signer`);
    });
    try {
      if (output === undefined) {
        await toStandardOutput(parts);
        return { json: null, lines: [] };
      }
      const file = resolve(input.cwd, output);
      await toNewFile(parts, file);
      return { json: { file, bytes }, lines: [`wrote ${file}: ${mebibytes(bytes)}`] };
    } finally {
      progress.end();
      await signer.close();
    }
  },
};

export const signerRestore: OfflineCommand = {
  name: 'restore',
  args: ['file'],
  summary: 'Create a signer’s folder from a backup and the seed phrase, which you type, with a new passphrase.',
  options: { dir: dirOption },
  runOffline: (input) =>
    withTerminal(async (terminal) => {
      const files = filesOf(input);
      refuseExistingSigner(files.dir);
      const file = resolve(input.cwd, input.args[0] ?? '');
      refuseMissing(file);
      const seed = await askMnemonic(terminal);
      try {
        const passphrase = await askNewPassphrase(terminal, 'Passphrase for the keystore');
        const progress = openProgressLine(process.stderr);
        let madeAtMs: number;
        try {
          const onBytes = (done: number, total: number) =>
            progress.show(`restored ${mebibytes(done)} of ${mebibytes(total)}`);
          madeAtMs = await restoreSigner(files.dir, seed, passphrase, { file, nowMs: systemClock.nowMs(), onBytes });
        } finally {
          progress.end();
          passphrase.fill(0);
        }
        const fingerprint = fingerprintOf(seed);
        return {
          json: { dir: files.dir, fingerprint, made_at: moment(madeAtMs) },
          lines: [
            `restored the signer ${fingerprint} of ${moment(madeAtMs)} in ${files.dir}`,
            'It does not know what was signed since, and signs nothing before each network is adopted. Make sure that no',
            'other signer of this seed runs, start this one, and run `quayside payout reconcile <network>` for each network.',
          ],
        };
      } finally {
        seed.fill(0);
      }
    }),
};

/** Before anybody types a seed phrase. @throws Fault permanent `not_found` */
function refuseMissing(file: string): void {
  try {
    accessSync(file, constants.R_OK);
  } catch (error) {
    throw notFound(`${file} cannot be read (${error instanceof Error ? error.message : error}); name a backup’s file`);
  }
}
