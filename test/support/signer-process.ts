/**
 * The signer program as a process, with a folder of its own.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installationFolder as root } from '../../src/lib/installation.ts';
import { signerFiles } from '../../src/signer/files.ts';
import type { PolicySettings } from '../../src/signer/policy.ts';
import { built } from './built.ts';
import { loaderOptions, ownProgram } from './own-program.ts';
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

const running = new Set<ChildProcess>();

/** Ends everything that a test has left running. */
export function endSigners(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** Starts the signer. @param program another program than the signer itself, with the same arguments */
export function startSigner(args: readonly string[], env: Readonly<Record<string, string>> = {}, program?: URL) {
  const child = fork(program ? ownProgram(program) : built('src/signer/main.ts'), [...args], {
    cwd: root,
    env: { ...process.env, ...env },
    execArgv: program ? [...loaderOptions] : [],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  running.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      output += chunk;
    });
  }
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((done) => {
    child.once('close', (code, signal) => {
      running.delete(child);
      done({ code, signal });
    });
  });
  /** Resolves with true when it is ready, with false when it ended before that. */
  const ready = new Promise<boolean>((done) => {
    child.on('message', (message: { ready?: boolean }) => {
      if (message.ready) done(true);
    });
    ended.then(() => done(false));
  });
  const kill = (signal: NodeJS.Signals) => void child.kill(signal);
  return { pid: child.pid ?? 0, ready, ended, output: () => output, kill };
}
