/**
 * Backs up the signer's journal and policy, and restores them into a new folder.
 * @module
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { systemClock } from '../../src/lib/clock.ts';
import { openBackup } from '../../src/signer/backup.ts';
import { openConfiguredSigner } from '../../src/signer/client.ts';
import { fingerprintOf } from '../../src/signer/keystore.ts';
import { refuseExistingSigner, restoreSigner } from '../../src/signer/setup.ts';
import { moment, notFound, type OfflineCommand } from './command.ts';
import { askMnemonic, askNewPassphrase, dirOption, filesOf, withTerminal } from './signer.ts';

export const signerBackup: OfflineCommand = {
  name: 'signer backup',
  args: [],
  summary: 'Print an encrypted backup of the running signer’s journal and policy; redirect it to a file.',
  options: { dir: dirOption },
  notes: [
    'It holds neither the seed nor the keystore. Only the seed phrase opens it, with `quayside signer restore`.',
    'Back up the database (data/quayside.db) with it.',
  ],
  async runOffline(input) {
    const signer = openConfiguredSigner({ dir: filesOf(input).dir });
    try {
      const text = await signer.backup();
      return { json: JSON.parse(text), lines: [text] };
    } finally {
      await signer.close();
    }
  },
};

export const signerRestore: OfflineCommand = {
  name: 'signer restore',
  args: ['file'],
  summary:
    'Create a signer’s folder from a backup and the seed phrase, which you type; it signs nothing before `adopt`.',
  options: { dir: dirOption },
  runOffline: (input) =>
    withTerminal(async (terminal) => {
      const files = filesOf(input);
      refuseExistingSigner(files.dir);
      const text = read(resolve(input.cwd, input.args[0] ?? ''));
      const seed = await askMnemonic(terminal);
      try {
        const backup = openBackup(text, seed);
        const passphrase = await askNewPassphrase(terminal, 'Passphrase for the keystore');
        try {
          restoreSigner(files.dir, seed, passphrase, backup, systemClock.nowMs());
        } finally {
          passphrase.fill(0);
        }
        const fingerprint = fingerprintOf(seed);
        return {
          json: { dir: files.dir, fingerprint, made_at: moment(backup.madeAtMs) },
          lines: [
            `restored the signer ${fingerprint} of ${moment(backup.madeAtMs)} in ${files.dir}`,
            'It does not know what was signed since, and signs nothing before each network is adopted. Make sure that no',
            'other signer of this seed runs, start this one, and run `quayside payouts adopt <network>` for each network.',
          ],
        };
      } finally {
        seed.fill(0);
      }
    }),
};

/** @throws Fault permanent `not_found` */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw notFound(`${file} cannot be read (${error instanceof Error ? error.message : error}); name a backup’s file`);
  }
}
