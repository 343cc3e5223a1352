/**
 * Waits for retired addresses before blocks are read. After a restore, payers may have addresses that are not derived
 * yet, and may have paid to them in the next blocks.
 */
import type { NetworkConfig } from '../../src/config/network.ts';
import type { Addresses } from '../../src/database/database.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Log } from '../../src/lib/log.ts';

/** The server derives 50,000 addresses in about a minute. Without a server, payments are still followed. */
const WAIT_MS_MAX = 180_000;
const LOOK_MS = 250;

type Parts = Readonly<{
  network: Pick<NetworkConfig, 'key' | 'family' | 'mode' | 'xpub'>;
  addresses: Addresses;
  clock: Clock;
  log: Pick<Log, 'warn'>;
}>;

/**
 * Returns once all retired addresses of the network's pool are derived, or after three minutes. It does not wait for
 * imported ones, which a person adds.
 * @throws Fault of the database
 */
export async function awaitRetiredAddresses(parts: Parts, signal: AbortSignal): Promise<void> {
  const { network, addresses, clock, log } = parts;
  const source = network.xpub === null ? null : await addresses.source(network);
  if (source === null) return;
  const giveUpAtMs = clock.nowMs() + WAIT_MS_MAX;
  while (!signal.aborted) {
    const { nextIndex, retiredThrough } = await addresses.level(network, source);
    if (nextIndex >= retiredThrough) return;
    if (clock.nowMs() >= giveUpAtMs) {
      const code = 'retired_addresses_missing';
      const reason = `${retiredThrough - nextIndex} addresses that customers may have are not derived yet`;
      log.warn({ code, reason }, 'blocks are read now, and payments to these addresses in them may be missed');
      return;
    }
    await clock.sleep(LOOK_MS, signal);
  }
}
