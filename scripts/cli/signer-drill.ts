/**
 * The backup drill: checks that the written-down seed phrase restores the addresses that payers were shown. Run it on a
 * clean machine, with a copy of the configuration and the database, before a restore is needed.
 */
import { existsSync } from 'node:fs';
import { xpubFingerprint } from '../../src/addresses/pool-keeper.ts';
import { networkOfEachPool } from '../../src/addresses/pool-level.ts';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { permanent } from '../../src/core/fault.ts';
import type { Database } from '../../src/database/database.ts';
import { signerFiles } from '../../src/signer/files.ts';
import { fingerprintOf, readKeystore } from '../../src/signer/keystore.ts';
import { type Command, operatorAct } from './command.ts';
import { askMnemonic, withTerminal } from './signer.ts';
import { table } from './table.ts';

/** One address as the seed and the database have it, in the family's text form; null if the database has none. */
type Compared = Readonly<{ index: number; seed: string; database: string | null }>;
type Pool = Readonly<{
  family: string;
  mode: string;
  source: 'same' | 'other' | 'none';
  addresses: readonly Compared[];
}>;

export const signerDrill: Command = {
  name: 'drill',
  args: [],
  summary: 'Check that your written-down seed phrase restores the addresses in the database.',
  options: {},
  run: (input, { config, database, clock }) =>
    withTerminal(async (terminal) => {
      const seed = await askMnemonic(terminal);
      try {
        const fingerprint = fingerprintOf(seed);
        const pools: Pool[] = [];
        for (const network of networkOfEachPool(config.networks))
          pools.push(await comparePool(database, network, seed));
        const keystore = config.signer && signerFiles(config.signer.dir).keystore;
        const kept = keystore && existsSync(keystore) ? readKeystore(keystore).fingerprint : null;
        const { atMs, operator: by } = operatorAct(signerDrill, input, clock);
        const record = (ok: boolean) =>
          database.audit.recordProof({ kind: 'seed', atMs, ok, by, about: `the words give the seed ${fingerprint}` });
        const wrong = pools.filter(({ source, addresses }) => source === 'other' || addresses.some(differs));
        if (wrong.length > 0 || (kept !== null && kept !== fingerprint)) {
          await record(false);
          const where = wrong.map(({ mode, family }) => `${mode} ${family}`).join(', ');
          throw permanent(
            'drill_failed',
            `these words do NOT restore this installation${where && ` (${where})`}: they give the seed ${fingerprint}${kept === null ? '' : `, but the keystore has ${kept}`}. Find the right words before you need them`,
          );
        }
        await record(true);
        return { json: { fingerprint, keystore: kept, pools }, lines: shown(fingerprint, kept, pools) };
      } finally {
        seed.fill(0);
      }
    }),
};

const differs = ({ seed, database }: Compared): boolean => database !== null && database !== seed;

async function comparePool(database: Database, network: NetworkConfig, seed: Uint8Array): Promise<Pool> {
  const { family, mode, xpub } = network;
  const chain = chains[family];
  const keys = await chain.walletKeys?.();
  const offline = await chain.offlineKeys?.();
  const deriving = await chain.xpubKeys?.();
  const configured =
    xpub === null ? (network.addressSigner ?? (await database.addresses.source({ family, mode }))) : xpub;
  const own = xpub === null ? offline?.sign(seed, new Uint8Array()).signer : keys?.xpub(seed);
  if (!own || configured === null) return { family, mode, source: 'none', addresses: [] };
  const source = xpub === null ? own : xpubFingerprint(own);
  const { nextIndex } = await database.addresses.level({ family, mode }, source);
  const indices = [...new Set([0, Math.max(0, nextIndex - 1)])];
  const addresses = await Promise.all(
    indices.map(async (index): Promise<Compared> => {
      const [key = ''] = offline ? offline.derive(seed, index, 1) : [deriving?.derive(own, index)];
      const known = await database.addresses.poolAddress({ family, mode }, source, index);
      return { index, seed: chain.address.format(key), database: known === null ? null : chain.address.format(known) };
    }),
  );
  return { family, mode, source: configured === own ? 'same' : 'other', addresses };
}

const shown = (fingerprint: string, kept: string | null, pools: readonly Pool[]): string[] => [
  `these words give the seed ${fingerprint}${kept === null ? '; there is no keystore here to compare it with' : ', the same as the keystore'}`,
  '',
  ...table([
    ['pool', 'index', 'from these words', 'in the database'],
    ...pools.flatMap(({ mode, family, addresses }) =>
      addresses.length === 0
        ? [[`${mode} ${family}`, '-', 'nothing to compare yet', '-']]
        : addresses.map(({ index, seed, database }) => [
            `${mode} ${family}`,
            String(index),
            seed,
            database ?? 'none yet',
          ]),
    ),
  ]),
  '',
  'These words restore this installation. Put them back where only you can find them.',
];
