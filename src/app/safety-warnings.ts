/**
 * Warnings about settings of a live installation that make it easier to take money from it.
 */
import { statSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { signerFiles } from '../signer/files.ts';

type SafetyWarning = Readonly<{ code: 'signer_same_user' | 'no_second_node'; message: string }>;

/** The networks' part that the warnings depend on. */
type Warned = Readonly<{
  signer: Config['signer'];
  networks: readonly Pick<Config['networks'][number], 'key' | 'mode' | 'sandbox' | 'witnessUrl'>[];
}>;

/**
 * Returns the warnings of an installation on live networks; none for any other. One without a signer only receives.
 * @param uid of this process; undefined where the system has no users
 */
export function safetyWarnings({ signer, networks }: Warned, uid = process.getuid?.()): SafetyWarning[] {
  const live = networks.filter(({ mode, sandbox }) => mode === 'live' && !sandbox);
  if (live.length === 0) return [];
  const warnings: SafetyWarning[] = [];
  const isOwnChild = signer !== null && signer.unlock.kind !== 'external';
  // Where the socket is not there yet, the signer has not started.
  if (isOwnChild || (signer && statSync(signerFiles(signer.dir).socket, { throwIfNoEntry: false })?.uid === uid)) {
    warnings.push({
      code: 'signer_same_user',
      message:
        'the signer runs as the same user as the server, so whoever takes over the server may read the keys from its ' +
        'memory. Run it as a service with a user of its own, with "unlock": "external" (src/signer/README.md).',
    });
  }
  const alone = live.filter(({ witnessUrl }) => witnessUrl === undefined).map(({ key }) => key);
  if (alone.length > 0) {
    warnings.push({
      code: 'no_second_node',
      message:
        `payments on ${alone.join(', ')} are credited${signer ? ', and refunds paid,' : ''} on the word of one node. Set witness_url to a ` +
        'second node, and from which amount it must agree (config/README.md).',
    });
  }
  return warnings;
}
