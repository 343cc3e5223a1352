/**
 * The lines that `npm start` prints for a person.
 */
import { statSync } from 'node:fs';
import { relative } from 'node:path';
import type { Config } from '../config/config.ts';
import { readShipped } from '../lib/installation.ts';
import { signerFiles } from '../signer/files.ts';
import { credentialsFile } from './sandbox-credentials.ts';

const { version } = readShipped<{ version: string }>('package.json');

/**
 * Returns the banner of the sandbox. It names the file with the secrets but not the secrets, because logs keep printed
 * text.
 */
export function sandboxBanner(
  config: Pick<Config, 'dataDir' | 'networks'>,
  { baseUrl, dashboardUrl, signInLink }: Readonly<{ baseUrl: string; dashboardUrl: string; signInLink: string | null }>,
): string[] {
  const networks = config.networks.map(({ name }) => name).join(', ');
  return [
    '',
    `Quayside ${version} is running as a sandbox with simulated networks: ${networks}.`,
    '',
    `Base URL: ${baseUrl}. API reference: ${baseUrl}/docs. Payment pages: ${baseUrl}/pay/<session id>.`,
    `The demo store's API key and secrets are in ${shortest(credentialsFile(config.dataDir))}, which only you can read.`,
    '',
    'Try next, in a second terminal:',
    '',
    `  ${sameInstallation()}npm run demo`,
    ...(signInLink ? [] : [`  ${firstPerson()}   (a link to the dashboard at ${dashboardUrl})`]),
    '',
    ...(signInLink
      ? ['The dashboard, as operator and owner of the demo store (once, within 30 minutes):', '', `  ${signInLink}`, '']
      : []),
  ];
}

/** Returns the banner of an installation with the operator's own networks. */
export function operatorBanner(
  config: Pick<Config, 'networks' | 'dataDir'>,
  { baseUrl, dashboardUrl, stores }: Readonly<{ baseUrl: string; dashboardUrl: string; stores: number }>,
): string[] {
  return [
    '',
    `Quayside ${version} is running at ${baseUrl}, with its data in ${shortest(config.dataDir)}.`,
    '',
    // Only the host is shown, because a node's URL may carry a token in its path or query.
    ...config.networks.map(({ key, chainId, url }) => `  ${key} (chain ${chainId}) from ${new URL(url).host}`),
    '',
    `Next: ${sameInstallation()}npx quayside ${stores === 0 ? 'store add <name>' : 'status'}`,
    `Dashboard: ${dashboardUrl}; a first account: ${firstPerson()}`,
    '',
  ];
}

const shortest = (path: string): string => {
  const fromHere = relative(process.cwd(), path);
  return fromHere.startsWith('..') ? path : fromHere;
};

const firstPerson = (): string => `${sameInstallation()}npx quayside user link <name>`;

/** Returns the variables that a command in another terminal needs to work on the same installation. */
const sameInstallation = (): string =>
  ['QUAYSIDE_CONFIG', 'QUAYSIDE_DATA_DIR']
    .flatMap((name) => (process.env[name] ? [`${name}=${process.env[name]} `] : []))
    .join('');

// ── Warnings ────────────────────────────────────────────────────────────────────────────────────────────────────────

type SafetyWarning = Readonly<{ code: 'signer_same_user' | 'no_second_node'; message: string }>;

/** The settings that the warnings depend on. */
type Warned = Readonly<{
  signer: Config['signer'];
  networks: readonly Pick<Config['networks'][number], 'key' | 'mode' | 'sandbox' | 'witnessUrl'>[];
}>;

/**
 * Returns the warnings of an installation on live networks; none for others. An installation without a signer only
 * receives.
 * @param uid the user of this process; undefined if the system has no users
 */
export function safetyWarnings({ signer, networks }: Warned, uid = process.getuid?.()): SafetyWarning[] {
  const live = networks.filter(({ mode, sandbox }) => mode === 'live' && !sandbox);
  if (live.length === 0) return [];
  const warnings: SafetyWarning[] = [];
  const isOwnChild = signer !== null && signer.unlock.kind !== 'external';
  // A missing socket means that the signer has not started yet.
  if (isOwnChild || (signer && statSync(signerFiles(signer.dir).socket, { throwIfNoEntry: false })?.uid === uid)) {
    warnings.push({
      code: 'signer_same_user',
      message:
        'the signer runs as the same user as the server, so an intruder on the server may read the keys from its ' +
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
