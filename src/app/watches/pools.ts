/** Watches the address pools. Only a person can fill an imported pool, because the seed is elsewhere. */
import { WHILE_EMPTY } from '../../addresses/pool-keeper.ts';
import { LOW_SHARE, networkOfEachPool, type PoolReport, readPool } from '../../addresses/pool-level.ts';
import type { Config } from '../../config/config.ts';
import type { NetworkConfig } from '../../config/network.ts';
import type { Addresses } from '../../database/database.ts';
import type { Finding, Watch } from './watchdog.ts';

export const watchPools = (addresses: Addresses, { networks }: Pick<Config, 'networks'>): Watch => ({
  what: 'the address pools',
  rules: ['address_pool_low', 'address_pool_empty', 'address_pool_unfilled'],
  async look() {
    const findings = [];
    for (const network of networkOfEachPool(networks)) {
      findings.push(trouble(network, await readPool(addresses, network)));
    }
    return findings.filter((finding) => finding !== null);
  },
});

function trouble({ key, sandbox }: NetworkConfig, report: PoolReport): Finding | null {
  const { family, mode, free, nextIndex, imported, isLow } = report;
  const of = { subject: `${mode}/${family}`, network: key } as const;
  const pool = `the ${mode} ${family} address pool`;
  // The sandbox imports its own addresses.
  if (!imported || sandbox) {
    return free > 0 ? null : { ...of, rule: 'address_pool_unfilled', message: `${pool} stays empty: ${WHILE_EMPTY}` };
  }
  const more =
    `Make more where the seed is with \`quayside address-pool derive --from ${nextIndex}\`, ` +
    'and import them with `quayside address-pool import`';
  if (free === 0) {
    const level = `is empty (${nextIndex} addresses were imported so far): ${WHILE_EMPTY}`;
    return { ...of, rule: 'address_pool_empty', message: `${pool} ${level}. ${more}` };
  }
  const level = `has ${free} of ${nextIndex} addresses left (${LOW_SHARE * 100} % or less)`;
  return isLow ? { ...of, rule: 'address_pool_low', message: `${pool} ${level}. ${more}` } : null;
}
