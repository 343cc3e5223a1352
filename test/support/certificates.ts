/**
 * Certificates made by the openssl program for tests of TLS.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export type KeyPair = Readonly<{ key: string; cert: string }>;

/**
 * Makes a server's certificate, which is its own authority.
 * @param names subject alternative names as openssl writes them: `IP:127.0.0.1`, `DNS:shop.example`
 * @returns the server's pair, and the file of the authority's certificate
 */
export function makeCertificates(dir: string, names: string): { server: KeyPair; authorityFile: string } {
  const [keyFile, file] = [join(dir, 'server.key'), join(dir, 'server.pem')];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile];
  const subject = ['-subj', '/CN=test server', '-addext', `subjectAltName=${names}`, '-days', '2'];
  execFileSync('openssl', ['req', '-x509', ...key, ...subject, '-out', file], { stdio: 'pipe' });
  const server = { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(file, 'utf8') };
  return { server, authorityFile: file };
}
