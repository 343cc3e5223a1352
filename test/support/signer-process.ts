/**
 * The signer program as a process, with a folder of its own.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installationFolder as root } from '../../src/lib/installation.ts';
import { signerFiles } from '../../src/signer/files.ts';
import type { PolicySettings } from '../../src/signer/policy.ts';
import { built } from './built.ts';
import { loaderOptions, ownProgram } from './own-program.ts';
import { startProcess } from './processes.ts';
import { makeSignerFolder, passphrase, policySettings, secretKey } from './temp-signer.ts';

/** Makes a signer's folder with the other files that the program needs. */
export function makeSignerPlace(settings: PolicySettings = policySettings) {
  const { dir, remove } = makeSignerFolder(settings);
  const beside = mkdtempSync(join(tmpdir(), 'quayside-signer-beside-'));
  const secretKeyFile = join(beside, 'secret.key');
  const passphraseFile = join(beside, 'passphrase');
  writeFileSync(secretKeyFile, `${Buffer.from(secretKey).toString('hex')}\n`, { mode: 0o600 });
  writeFileSync(passphraseFile, `${passphrase}\n`, { mode: 0o600 });
  return {
    dir,
    socket: signerFiles(dir).socket,
    args: ['--dir', dir, '--secret-key-file', secretKeyFile, '--unlock', `file:${passphraseFile}`],
    remove() {
      remove();
      rmSync(beside, { recursive: true, force: true });
    },
  };
}

export type SignerPlace = ReturnType<typeof makeSignerPlace>;
export type SignerProcess = ReturnType<typeof startSigner>;

/** Starts the signer. @param program another program than the signer itself, with the same arguments */
export function startSigner(args: readonly string[], env: Readonly<Record<string, string>> = {}, program?: URL) {
  const words = program ? [...loaderOptions, ownProgram(program)] : [built('src/signer/main.ts')];
  const started = startProcess(process.execPath, [...words, ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const { child, output, pid } = started;
  const ended = started.ended.then((code) => ({ code, signal: child.signalCode }));
  /** Resolves with true when it is ready, with false when it ended before that. */
  const ready = new Promise<boolean>((done) => {
    child.on('message', (message: { ready?: boolean }) => {
      if (message.ready) done(true);
    });
    ended.then(() => done(false));
  });
  const kill = (signal: NodeJS.Signals) => void child.kill(signal);
  return { pid, ready, ended, output, kill };
}
