/**
 * Verifies a publisher's detached OpenPGP signature with the system's gpg. What counts is the fingerprint that the
 * recipe names, not what the person who runs this trusts.
 * @module
 */
import { execFile } from 'node:child_process';
import { permanent } from '../../src/core/fault.ts';

const VERIFY_MS_MAX = 300_000;

type Verified = Readonly<{ code: string | number | null; status: string }>;

const gpg = (env: NodeJS.ProcessEnv, ...args: string[]): Promise<Verified> =>
  new Promise((resolve) => {
    execFile('gpg', ['--batch', '--no-tty', ...args], { env, timeout: VERIFY_MS_MAX }, (error, stdout) =>
      resolve({ code: error ? (error.code ?? 'stopped') : null, status: stdout }),
    );
  });

/**
 * @param fingerprint of the publisher's primary key, which must be in the caller's keyring
 * @param env has GNUPGHOME, if the keyring is elsewhere
 * @throws Fault permanent `gpg_missing`, `key_missing`, `signature_wrong`
 */
export async function verifySignature(
  file: string,
  signature: string,
  fingerprint: string,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const { code, status } = await gpg(env, '--status-fd', '1', '--verify', signature, file);
  if (code === 'ENOENT')
    throw permanent('gpg_missing', 'gpg, which verifies signatures, is not installed: apt install gpg');
  const lines = [...status.matchAll(/^\[GNUPG:\] (\w+) ?(.*)$/gm)].map(([, name = '', rest = '']) => ({ name, rest }));
  const has = (name: string) => lines.some((line) => line.name === name);
  if (has('NO_PUBKEY') && !has('BADSIG')) {
    throw permanent(
      'key_missing',
      `the key ${fingerprint} is not in your keyring: get it from its publisher, compare the fingerprint, then gpg --import`,
    );
  }
  // The last word is the fingerprint of the primary key; GOODSIG is neither of an expired nor of a revoked key.
  const signers = lines.filter(({ name }) => name === 'VALIDSIG').map(({ rest }) => rest.split(' ').at(-1));
  if (code === null && has('GOODSIG') && !has('BADSIG') && signers.every((one) => one === fingerprint) && signers[0])
    return;
  const what = lines.filter(({ name }) => /SIG$/.test(name)).map(({ name, rest }) => `${name} ${rest}`);
  throw permanent(
    'signature_wrong',
    `the signature of the download is not by ${fingerprint} (${what.join('; ') || 'gpg found none'}): do not run this file`,
  );
}
