/**
 * Makes the certificates of one network that are due, and raises an alarm if the chain and the database differ.
 *
 * @module
 */
import { Fault } from '../../src/core/fault.ts';
import type { Database } from '../../src/database/database.ts';
import { isFollowed } from '../../src/database/network-health.ts';
import { BLOCKS_MAX } from '../../src/evidence/certificate.ts';
import type { Log } from '../../src/lib/log.ts';
import { reportCertificates, reportNotMade } from './alarms.ts';
import { type EvidenceParts, makeCertificate, nextRange } from './maker.ts';

/** The process rests as long as it works, so that the node and the follower have half of the time for themselves. */
const REST_SHARE = 1;
const REST_MS_MAX = 5_000;
const FOLLOWED_POLL_MS = 5_000;
/** After this long without being followed, the network is left for the next night. */
const UNFOLLOWED_MS_MAX = 4 * 3_600_000;

export type NightlyParts = Omit<EvidenceParts, 'rest' | 'database'> &
  Readonly<{ database: EvidenceParts['database'] & Pick<Database, 'keepAlarm' | 'endAlarm'>; log: Log }>;

/**
 * Makes the certificate of everything that is final and has none; several if it is much.
 * @returns how many were made
 * @throws what no fault explains; faults are reported by an alarm
 */
export async function certifyNetwork(parts: NightlyParts, signal: AbortSignal): Promise<number> {
  const { network, log } = parts;
  const rest = restOf(parts);
  let made = 0;
  try {
    for (let isCut = true; isCut && !signal.aborted; ) {
      await rest(0, signal);
      const range = await nextRange(parts, BLOCKS_MAX);
      if (!range || signal.aborted) break;
      const { certificate, file } = await makeCertificate({ ...parts, rest }, range, signal);
      // What has become final meanwhile is for the next night.
      isCut = range.to - range.from + 1 === BLOCKS_MAX;
      const { sequence, result, differences } = certificate;
      log.info({ network: network.key, sequence, result, differences: differences.count, file }, 'certificate made');
      made += 1;
    }
    await reportCertificates(parts);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    if (!signal.aborted) log.warn({ network: network.key, code: error.code }, await reportNotMade(parts, error));
  }
  return made;
}

/**
 * Rests after work, and for as long as the network is not followed: then its node has more urgent things to answer.
 * @throws Fault transient `network_not_followed` after hours of that
 */
function restOf({ network, database, clock }: NightlyParts): EvidenceParts['rest'] {
  return async (tookMs, signal) => {
    if (tookMs > 0) await clock.sleep(Math.min(REST_SHARE * tookMs, REST_MS_MAX), signal);
    const giveUpAtMs = clock.nowMs() + UNFOLLOWED_MS_MAX;
    while (!signal?.aborted) {
      const status = (await database.listNetworks()).find((one) => one.network === network.key);
      if (status && isFollowed(status, clock.nowMs())) return;
      if (clock.nowMs() >= giveUpAtMs) {
        throw new Fault('transient', 'network_not_followed', `${network.key} was not followed for hours`);
      }
      await clock.sleep(FOLLOWED_POLL_MS, signal);
    }
  };
}
