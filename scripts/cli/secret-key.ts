/**
 * Rotates the secret key. Never prints a key.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { makeProvedBackup } from '../../src/app/backup/make.ts';
import { type RotationParts, rotateSecretKey } from '../../src/app/secret-key-rotation.ts';
import { refuseOnServer } from '../../src/app/sqlite-only.ts';
import { type Config, loadConfig } from '../../src/config/config.ts';
import { Fault, permanent } from '../../src/core/fault.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import { databaseFile } from '../../src/lib/secret-key.ts';
import { passphraseOption, withPassphrase } from './backup.ts';
import { type Input, type OfflineCommand, reasonOption, textOption } from './command.ts';
import { withSigner } from './signer-freeze.ts';

export const secretKeyRotate: OfflineCommand = {
  name: 'secret-key rotate',
  args: [],
  summary: 'Replace the secret key while Quayside is stopped, after a backup.',
  options: {
    to: { value: 'FOLDER', help: 'where the backup with the old key is written', isRequired: true },
    passphraseFile: passphraseOption,
    reason: reasonOption,
  },
  notes: [
    'Stop Quayside and the signer first. A rotation that was interrupted is run again: it ends what it began.',
    'Links that payers have end: those to leave a refund address after the payment, and claim links of open refunds.',
  ],
  async runOffline(input) {
    const config = loadConfig({ env: input.env, cwd: input.cwd, beforeSandbox: true });
    refuseOnServer(config, 'the rotation of the secret key', 'Keep the key that the database was made with.');
    if (!existsSync(databaseFile(config.dataDir)))
      throw permanent('not_found', `there is no installation in ${config.dataDir}; check QUAYSIDE_DATA_DIR`);
    if (config.signer) await refuseRunningSigner(config.signer.dir);
    const rotation = await rotateSecretKey(partsOf(config, input));
    if (rotation.kind === 'ended')
      return { json: rotation, lines: [`The interrupted rotation has ended: ${rotation.file} has the new key.`] };
    const { file, resealed, altered, claimLinks } = rotation;
    return {
      json: { kind: 'done', file, resealed, altered, claim_links: claimLinks },
      lines: [
        `${file} has the new key, and ${resealed} rows are sealed with it.`,
        ...(altered > 0 ? [`${altered} rows were altered before: they stay as they are, and nothing uses them.`] : []),
        ...(claimLinks > 0 ? [`${claimLinks} refunds have new claim links: \`quayside refund list\``] : []),
        'A signer with a key file of its own needs the new one. Start Quayside, and make a backup: `quayside backup`.',
      ],
      isBad: altered > 0,
    };
  },
};

function partsOf(config: Config, input: Input): RotationParts {
  const { env, cwd, act, progress } = input;
  const { dataDir } = config;
  const folder = resolve(cwd, textOption(input, 'to') ?? '');
  const log = openLog('backup', config.logLevel);
  // The signer is stopped, and its part does not depend on the secret key.
  const parts = { config: { ...config, signer: null }, env, act, clock: systemClock, log };
  const backup = async () => {
    await withPassphrase(input, true, (passphrase) => makeProvedBackup(parts, folder, passphrase));
  };
  return { dataDir, env, act, backup, onStep: (name) => progress.show(name) };
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
