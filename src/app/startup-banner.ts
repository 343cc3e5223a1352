/**
 * The lines that `npm start` prints for a person.
 */
import { relative } from 'node:path';
import type { Config } from '../config/config.ts';
import { readShipped } from '../lib/installation.ts';
import { type Credentials, credentialsFile } from './sandbox-credentials.ts';

const { version } = readShipped<{ version: string }>('package.json');

/** Returns the banner of the sandbox; the first start includes its credentials, which are shown only once. */
export function sandboxBanner(
  config: Pick<Config, 'dataDir' | 'networks'>,
  { credentials, dashboardUrl, isNew }: Readonly<{ credentials: Credentials; dashboardUrl: string; isNew: boolean }>,
): string[] {
  const file = credentialsFile(config.dataDir);
  const networks = config.networks.map(({ name }) => name).join(', ');
  const secrets = [
    ['merchant id', credentials.merchant_id],
    ['API key', credentials.api_key],
    ['secret', credentials.api_secret],
    ['webhook secret', credentials.webhook_secret],
  ];
  return [
    '',
    `Quayside ${version} is running as a sandbox with simulated networks: ${networks}.`,
    '',
    ...[['base URL', credentials.base_url], ...(isNew ? secrets : [])].map(
      ([name, value]) => `  ${name?.padEnd(15)} ${value}`,
    ),
    '',
    isNew
      ? `These credentials are shown only once and stored in ${shortest(file)}, which only you can read.`
      : `The credentials are in ${shortest(file)}.`,
    `API reference: ${credentials.base_url}/docs. Payment pages: ${credentials.base_url}/pay/<session id>.`,
    '',
    'Try next, in a second terminal:',
    '',
    `  ${sameInstallation()}npm run demo`,
    `  ${firstPerson()}   (your way into the dashboard, as operator and owner of the demo store: ${dashboardUrl})`,
    '',
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
