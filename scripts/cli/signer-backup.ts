/** Restores a signer from its part of a backup, and checks the seed phrase. */
import { accessSync, constants, existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { xpubFingerprint } from '../../src/addresses/pool-keeper.ts';
import { networkOfEachPool } from '../../src/addresses/pool-level.ts';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { permanent } from '../../src/core/fault.ts';
import type { Database } from '../../src/database/database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { signerFiles } from '../../src/signer/files.ts';
import { fingerprintOf, readKeystore } from '../../src/signer/keystore.ts';
import { refuseExistingSigner, restoreSigner } from '../../src/signer/setup.ts';
import { type Command, moment, type OfflineCommand, recordAnswer } from './command.ts';
import { attempt } from './output.ts';
import { dirOption, filesOf } from './signer-policy.ts';
import { askMnemonic, askNewPassphrase, withSecret, withTerminal } from './terminal.ts';

export const signerRestore: OfflineCommand = {
  name: 'restore',
  args: '<file>',
  summary: 'Create a signer’s folder from the signer.backup of `quayside restore` and the seed phrase.',
  options: { dir: dirOption },
  runOffline: (input) =>
    withTerminal(async (terminal) => {
      const { dir } = filesOf(input);
      refuseExistingSigner(dir);
      const file = resolve(input.cwd, input.args[0] ?? '');
      // Before anybody types a seed phrase.
      attempt(`${file} cannot be read`, () => accessSync(file, constants.R_OK));
      return withSecret(askMnemonic(terminal), async (seed) => {
        const typed = askNewPassphrase(terminal, 'Passphrase for the keystore');
        const from = { file, nowMs: systemClock.nowMs() };
        const madeAtMs = await withSecret(typed, (passphrase) => restoreSigner(dir, seed, passphrase, from));
        const fingerprint = fingerprintOf(seed);
        return recordAnswer({ dir, fingerprint, made_at: moment(madeAtMs) }, [
          'It does not know what was signed since, and signs nothing before each network is adopted. Make sure that no',
          'other signer of this seed runs, start this one, and run `quayside payout reconcile <network>` for each network.',
        ]);
      });
    }),
};

/** Whether the addresses of a pool are made from the seed; `none`: there are none yet. */
type Pool = Readonly<{ family: string; mode: string; source: 'same' | 'other' | 'none' }>;

/** Run on a clean machine, with a copy of the configuration and the database, before a restore is needed. */
export const signerDrill: Command = {
  name: 'drill',
  summary: 'Check that the deposit addresses are made from your written-down seed phrase.',
  run: (input, { config, database }) =>
    withTerminal((terminal) =>
      withSecret(askMnemonic(terminal), async (seed) => {
        const fingerprint = fingerprintOf(seed);
        const pools: Pool[] = [];
        for (const network of networkOfEachPool(config.networks))
          pools.push(await comparePool(database, network, seed));
        const keystore = config.signer && signerFiles(config.signer.dir).keystore;
        const kept = keystore && existsSync(keystore) ? readKeystore(keystore).fingerprint : null;
        const wrong = pools.filter(({ source }) => source === 'other');
        const ok = wrong.length === 0 && (kept === null || kept === fingerprint);
        await database.audit.record(input.act, { target: 'seed', before: null, after: { fingerprint, restores: ok } });
        const end = 'These words restore this installation. Store them where only you can find them.';
        if (ok) return recordAnswer({ fingerprint, keystore: kept, pools }, [end]);
        const where = wrong.map(({ mode, family }) => `${mode} ${family}`).join(', ');
        throw permanent(
          'drill_failed',
          `these words do NOT restore this installation${where && ` (${where})`}: they give the seed ${fingerprint}${kept === null ? '' : `, but the keystore has ${kept}`}. Find the right words before you need them`,
        );
      }),
    ),
};

/** Compares the source of addresses that the seed gives with the configured one, and with that of the database. */
async function comparePool(database: Database, network: NetworkConfig, seed: Uint8Array): Promise<Pool> {
  const { family, mode, xpub, addressSigner } = network;
  const { spending, offlineKeys } = chains[family];
  const own =
    xpub === null ? (await offlineKeys?.())?.sign(seed, new Uint8Array()).signer : (await spending()).xpub(seed);
  const fromSeed = own && xpub !== null ? xpubFingerprint(own) : own;
  const configured = xpub === null ? addressSigner : xpubFingerprint(xpub);
  const known = [configured, await database.addresses.source({ family, mode })].filter(Boolean);
  const isSame = known.every((source) => source === fromSeed);
  return { family, mode, source: !fromSeed || known.length === 0 ? 'none' : isSame ? 'same' : 'other' };
}
