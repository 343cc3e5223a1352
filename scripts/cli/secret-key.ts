/**
 * Rotates the secret key. Never prints a key.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { makeProvedBackup, sealKeyFile } from '../../src/app/backup/make.ts';
import { type RotationParts, rotateSecretKey } from '../../src/app/secret-key-rotation.ts';
import { type Config, loadConfig } from '../../src/config/config.ts';
import { Fault, permanent } from '../../src/core/fault.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import { databaseFile, secretKeyFile } from '../../src/lib/secret-key.ts';
import { passphraseOption, withPassphrase } from './backup.ts';
import { type Input, type OfflineCommand, reasonOption, recordAnswer, textOption } from './command.ts';
import { withSigner } from './signer-freeze.ts';

export const secretKeyRotate: OfflineCommand = {
  name: 'secret-key rotate',
  summary: 'Replace the secret key while Quayside is stopped, after a backup.',
  options: {
    to: { value: 'FOLDER', help: 'where the backup with the old key is written', isRequired: true },
    passphraseFile: passphraseOption,
    reason: reasonOption,
  },
  notes: [
    'Stop Quayside and the signer first. A rotation that was interrupted is run again: it ends what it began.',
    'On PostgreSQL, make a backup with the server’s own tools first. FOLDER gets the old key for it, encrypted.',
    'Links that payers have end: those to leave a refund address after the payment, and claim links of open refunds.',
  ],
  async runOffline(input) {
    const config = loadConfig({ env: input.env, cwd: input.cwd });
    if (
      !existsSync(config.databaseUrl === null ? databaseFile(config.dataDir) : secretKeyFile(config.dataDir, input.env))
    )
      throw permanent('not_found', `there is no installation in ${config.dataDir}; check QUAYSIDE_DATA_DIR`);
    if (config.signer) await refuseRunningSigner(config.signer.dir);
    const rotation = await rotateSecretKey(partsOf(config, input));
    if (rotation.kind === 'ended')
      return recordAnswer(rotation, [`The interrupted rotation has ended: ${rotation.file} has the new key.`]);
    const { file, resealed, altered, claimLinks } = rotation;
    return recordAnswer(
      { kind: 'done', file, resealed, altered, claim_links: claimLinks },
      [
        ...(altered > 0 ? ['Rows that were altered before stay as they are, and nothing uses them.'] : []),
        'Give it to a signer with a key file of its own and to other machines. Start Quayside, and make a backup.',
      ],
      altered > 0,
    );
  },
};

function partsOf(config: Config, input: Input): RotationParts {
  const { env, cwd, act, progress } = input;
  const folder = resolve(cwd, textOption(input, 'to') ?? '');
  const log = openLog('backup', config.logLevel);
  // The signer is stopped, and its part does not depend on the secret key.
  const parts = { config: { ...config, signer: null }, env, act, clock: systemClock, log };
  const backup = async () => {
    await withPassphrase(input, true, async (passphrase) => {
      if (config.databaseUrl === null) await makeProvedBackup(parts, folder, passphrase);
      else await sealKeyFile(secretKeyFile(config.dataDir, env), folder, passphrase, act.atMs);
    });
  };
  return { config, env, act, backup, onStep: (name) => progress.show(name) };
}

/** @throws Fault permanent `already_running` */
async function refuseRunningSigner(dir: string): Promise<void> {
  try {
    await withSigner(dir, (signer) => signer.freezeState());
  } catch (error) {
    if (error instanceof Fault && error.code === 'signer_unreachable') return;
    throw error;
  }
  throw permanent('already_running', `the signer of ${dir} is running; stop it, then run this again`);
}
