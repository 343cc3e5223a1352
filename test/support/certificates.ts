/**
 * Certificates made by the openssl program for tests of TLS.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export type KeyPair = Readonly<{ key: string; cert: string }>;

const openssl = (args: readonly string[]): void => {
  execFileSync('openssl', args, { stdio: 'pipe' });
};

/**
 * Makes an authority, and a server certificate that it signed.
 * @param names subject alternative names as openssl writes them: `IP:127.0.0.1`, `DNS:shop.example`
 * @returns the server's pair, and the file of the authority's certificate
 */
export function makeCertificates(dir: string, names: string): { server: KeyPair; authorityFile: string } {
  const at = (name: string) => join(dir, name);
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl([
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    at('ca.key'),
    '-out',
    at('ca.pem'),
    '-subj',
    '/CN=test authority',
    '-days',
    '2',
  ]);
  openssl(['req', ...newKey, '-keyout', at('server.key'), '-out', at('server.csr'), '-subj', '/CN=test server']);
  writeFileSync(at('names'), `subjectAltName=${names}\n`);
  const signed = [
    '-CA',
    at('ca.pem'),
    '-CAkey',
    at('ca.key'),
    '-CAcreateserial',
    '-days',
    '2',
    '-extfile',
    at('names'),
  ];
  openssl(['x509', '-req', '-in', at('server.csr'), '-out', at('server.pem'), ...signed]);
  const text = (name: string) => readFileSync(at(name), 'utf8');
  return { server: { key: text('server.key'), cert: text('server.pem') }, authorityFile: at('ca.pem') };
}
