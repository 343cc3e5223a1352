/**
 * Reads the keystore's passphrase from the terminal, a file or a systemd credential, never from an environment
 * variable. These are inherited, logged and shown in `/proc`.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { permanent } from '../core/fault.ts';
import type { Terminal } from './terminal.ts';

export type Unlock = Readonly<{ kind: 'prompt' | 'credential' } | { kind: 'file'; path: string }>;

/** The name in `LoadCredential=` and `LoadCredentialEncrypted=` of the service (https://systemd.io/CREDENTIALS/). */
const CREDENTIAL = 'quayside-signer-passphrase';
const PASSPHRASE_BYTES_MAX = 4096;
const LINE_ENDS = [0x0a, 0x0d];

const suspicious = /^(QUAYSIDE|SIGNER)_\w*(PASSPHRASE|PASSWORD|MNEMONIC|SEED|PRIVATE_KEY)/i;

/** Refuses variables that look like secrets. @throws Fault permanent `secret_in_environment`, without the value */
export function refuseSecretsInEnvironment(env: NodeJS.ProcessEnv): void {
  const name = Object.keys(env).find((one) => suspicious.test(one));
  if (name === undefined) return;
  throw permanent(
    'secret_in_environment',
    `the environment variable ${name} looks like a secret, and other processes can read it. Remove it, replace that secret, and unlock by prompt, file or systemd credential`,
  );
}

/**
 * Returns the passphrase, which the caller wipes.
 * @throws Fault permanent `unlock_impossible`
 */
export async function readPassphrase(
  unlock: Unlock,
  { env, terminal }: Readonly<{ env: NodeJS.ProcessEnv; terminal: Pick<Terminal, 'isInteractive' | 'askHidden'> }>,
): Promise<Buffer> {
  switch (unlock.kind) {
    case 'prompt':
      if (terminal.isInteractive) return terminal.askHidden('Passphrase of the signer’s keystore (not shown): ');
      throw impossible('there is no terminal; start it at one, or unlock by file or systemd credential');
    case 'file':
      refuseOpenFile(unlock.path);
      return readWhole(unlock.path);
    case 'credential': {
      const folder = env.CREDENTIALS_DIRECTORY;
      if (folder) return readWhole(join(folder, CREDENTIAL));
      throw impossible(
        `systemd passed no credentials to this process; add LoadCredentialEncrypted=${CREDENTIAL}:… to its unit`,
      );
    }
  }
}

const impossible = (why: string, cause?: unknown) =>
  permanent('unlock_impossible', `the keystore cannot be unlocked: ${why}`, cause);

/** Refuses a file that other users can access. (systemd protects credentials itself.) */
function refuseOpenFile(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found?.isFile()) throw impossible(`there is no file ${file}`);
  if ((found.mode & 0o077) !== 0) throw impossible(`other users can access ${file}; run: chmod 600 ${file}`);
  const me = process.getuid?.();
  if (me !== undefined && found.uid !== me && found.uid !== 0) throw impossible(`${file} belongs to another user`);
}

/** Reads a file without the final line break that editors add. */
function readWhole(file: string): Buffer {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw impossible(error instanceof Error ? error.message : `${file} cannot be read`, error);
  }
  let length = bytes.length;
  while (length > 0 && LINE_ENDS.includes(bytes[length - 1] ?? 0)) length--;
  if (length > 0 && length <= PASSPHRASE_BYTES_MAX) return bytes.subarray(0, length);
  throw impossible(`${file} contains no passphrase of 1 to ${PASSPHRASE_BYTES_MAX} bytes`);
}
