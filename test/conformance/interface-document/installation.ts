/**
 * The sandbox as `npm start` runs it: in a folder of its own, on loopback, on the four simulated networks. All that is
 * known of it is what it prints and what its command answers.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readShipped } from '../../../src/lib/installation.ts';
import { makeCertificates } from '../../support/certificates.ts';
import { sandboxInstallation } from '../../support/quayside-process.ts';

/** A parsed answer. Rows look into answers freely and assert what the document says of them. */
// biome-ignore lint/suspicious/noExplicitAny: every field that is read is asserted
export type Json = any;

/**
 * The documented schedule begins at two minutes. Here each delay is short: the first four double, as documented, and
 * all ten pass while the suite runs.
 */
export const RETRY_DELAYS_S = [1, 2, 4, 8, 1, 1, 1, 1, 1, 1];

export type Installation = Awaited<ReturnType<typeof startInstallation>>;

export async function startInstallation() {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-conformance-'));
  const { server, authorityFile } = makeCertificates(folder, 'IP:127.0.0.1');
  const sandbox = sandboxInstallation(join(folder, 'data'), {
    NODE_EXTRA_CA_CERTS: authorityFile,
    QUAYSIDE_LIMITS__POOL_TARGET: '500',
    QUAYSIDE_WEBHOOKS__RETRY_DELAYS_S: RETRY_DELAYS_S.join(','),
    // It quotes RON. Out of reach it has no rate for it, and in reach it is alone, which is not enough either.
    QUAYSIDE_RATES__SOURCES: 'static,ecb',
  });
  const supervisor = await sandbox.start();
  return {
    ...readNamed(supervisor.stdout()),
    /** A server certificate, and its authority, which the installation trusts besides the usual ones. */
    tls: { server, authority: readFileSync(authorityFile, 'utf8') },
    /** Runs the operator's command with `--json`. @returns its answer @throws Error with what it printed */
    tool: sandbox.tool,
    /** The defaults that it ships with. */
    shipped: () => readShipped<Json>('config/default.json'),
    async stop() {
      await supervisor.end('SIGTERM');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Returns the credentials in the file that the start's text names. */
function readNamed(text: string) {
  const [, file] = /secrets are in (\S+), which/.exec(text) ?? [];
  if (file === undefined) throw new Error(`the start names no file of credentials:\n${text}`);
  const { base_url, merchant_id, api_key, api_secret, webhook_secret } = JSON.parse(readFileSync(file, 'utf8'));
  return {
    baseUrl: String(base_url),
    merchantId: String(merchant_id),
    apiKey: String(api_key),
    apiSecret: String(api_secret),
    webhookSecret: String(webhook_secret),
  };
}
