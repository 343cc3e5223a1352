/**
 * The signer program:
 *
 *   node dist/src/signer/main.js --dir DIR --secret-key-file FILE [--unlock prompt|credential|file:PATH]
 *
 * It holds the keys, listens on a unix socket, and needs no network and no database except its own. The supervisor
 * (`npm start`) runs it if the configuration has `signer`; README.md in this folder describes it as a separate service.
 *
 * Exit codes: 0 stopped by SIGTERM, SIGINT or the end of the supervisor; 1 the storage is unavailable, or a broken
 * invariant; 2 the arguments, the files or the passphrase do not allow a start, and a person must act.
 */
import '../lib/runtime.ts';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Family } from '../chains/chain.ts';
import { chains } from '../chains/index.ts';
import type { Spending } from '../chains/spend.ts';
import { Fault, permanent } from '../core/fault.ts';
import { systemClock } from '../lib/clock.ts';
import { openLog } from '../lib/log.ts';
import { openSecretKey } from '../lib/secret-key.ts';
import { collectStartGarbage } from '../lib/start-garbage.ts';
import { checkSignerDir, signerFiles, takeSignerLock } from './files.ts';
import { policyHashOf } from './freeze.ts';
import { openJournal } from './journal.ts';
import { type Keystore, readKeystore } from './keystore.ts';
import { loadPolicy, type Policy } from './policy.ts';
import { keepMemoryPrivate } from './private-memory.ts';
import { serveSigningService } from './server.ts';
import { openSigningService } from './signing-service.ts';
import { openTerminal } from './terminal.ts';
import { readPassphrase, refuseSecretsInEnvironment, type Unlock } from './unlock.ts';

const EXIT = { failed: 1, cannotStart: 2 } as const;
/** Enough for a person who mistypes, too few for somebody who guesses. */
const PROMPTS_MAX = 3;

type Arguments = Readonly<{ dir: string; secretKeyFile: string; unlock: Unlock; logLevel: string }>;

const stopping = new AbortController();
const stopped = new Promise<null>((resolve) => {
  stopping.signal.addEventListener('abort', () => resolve(null), { once: true });
});
const stop = () => stopping.abort();
const requests = ['SIGTERM', 'SIGINT', 'disconnect'] as const;
for (const request of requests) process.on(request, stop);
let log = openLog('signer', 'info');

try {
  const given = readArguments(process.argv.slice(2));
  log = openLog('signer', given.logLevel);
  await run(given);
} catch (error) {
  if (!(error instanceof Fault)) throw error;
  // A hidden prompt intercepts Ctrl-C, which every process at the terminal should get.
  if (error.code === 'interrupted') process.kill(0, 'SIGINT');
  else {
    log.fatal({ code: error.code }, error.message);
    process.exitCode = error.kind === 'permanent' ? EXIT.cannotStart : EXIT.failed;
  }
} finally {
  // The listener for `disconnect` would keep this process alive.
  for (const request of requests) process.off(request, stop);
}

/** @throws Fault permanent `usage` */
function readArguments(words: string[]): Arguments {
  const text = { type: 'string' } as const;
  const options = { dir: text, 'secret-key-file': text, unlock: text, 'log-level': text };
  const { values } = parseOptions(() => parseArgs({ args: words, options, strict: true }));
  const { dir, 'secret-key-file': secretKeyFile, unlock = 'prompt', 'log-level': logLevel = 'info' } = values;
  if (dir === undefined || secretKeyFile === undefined)
    throw permanent('usage', '--dir and --secret-key-file are required');
  return { dir: resolve(dir), secretKeyFile: resolve(secretKeyFile), unlock: readUnlock(unlock), logLevel };
}

function parseOptions<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw permanent('usage', error instanceof Error ? error.message : String(error));
  }
}

function readUnlock(text: string): Unlock {
  if (text === 'prompt' || text === 'credential') return { kind: text };
  if (text.startsWith('file:')) return { kind: 'file', path: resolve(text.slice('file:'.length)) };
  throw permanent('usage', `--unlock is "${text}", expected prompt, credential or file:PATH`);
}

async function run({ dir, secretKeyFile, unlock }: Arguments): Promise<void> {
  process.umask(0o077);
  refuseSecretsInEnvironment(process.env);
  for (const warning of keepMemoryPrivate()) log.warn(warning);
  checkSignerDir(dir);
  const files = signerFiles(dir);
  const release = takeSignerLock(dir);
  try {
    const policy = loadPolicy(files.policy);
    const keystore = readKeystore(files.keystore);
    const journal = openJournal(files.journal);
    try {
      checkOwner(keystore, journal.fingerprint, files.journal);
      const spendings = await loadSpendings(policy);
      const secretKey = openSecretKey(secretKeyFile);
      const seed = await unlockSeed(keystore, unlock);
      if (!seed) return;
      const policyText = readFileSync(files.policy, 'utf8');
      const parts = { secretKey, policy, policyText, journal, spendings, clock: systemClock, log };
      const service = openSigningService({ seed, ...parts });
      try {
        const server = await serveSigningService({ socket: files.socket, service, log });
        const networks = policy.networks.map(({ key }) => key);
        const policyHash = policyHashOf(policyText);
        log.info({ fingerprint: keystore.fingerprint, networks, policyHash }, 'the signer is ready');
        process.send?.({ ready: true });
        void collectStartGarbage(systemClock, stopping.signal);
        await stopped;
        await server.close();
      } finally {
        service.close();
      }
    } finally {
      journal.close();
    }
  } finally {
    release();
  }
  log.info('the signer has stopped');
}

/** @throws Fault permanent `journal_foreign` */
function checkOwner(keystore: Keystore, fingerprint: string, file: string): void {
  if (keystore.fingerprint === fingerprint) return;
  throw permanent(
    'journal_foreign',
    `${file} belongs to the seed ${fingerprint}, but the keystore has ${keystore.fingerprint}: restore the matching file`,
  );
}

/** Loads the code of the families that the policy has, and of no other. */
async function loadSpendings({ networks }: Policy): Promise<ReadonlyMap<Family, Spending>> {
  const loaded = new Map<Family, Spending>();
  for (const { family } of networks) loaded.set(family, await chains[family].spending());
  return loaded;
}

/**
 * Asks for the passphrase and opens the keystore.
 * @returns null if the process was stopped meanwhile
 * @throws Fault permanent `passphrase_wrong` and those of `readPassphrase`
 */
async function unlockSeed(keystore: Keystore, unlock: Unlock): Promise<Uint8Array | null> {
  const terminal = openTerminal();
  try {
    for (let tries = 1; ; tries++) {
      const passphrase = await Promise.race([readPassphrase(unlock, { env: process.env, terminal }), stopped]);
      if (!passphrase) return null;
      try {
        return keystore.unlock(passphrase);
      } catch (error) {
        if (!(error instanceof Fault) || unlock.kind !== 'prompt' || tries >= PROMPTS_MAX) throw error;
        terminal.say(error.message);
      } finally {
        passphrase.fill(0);
      }
    }
  } finally {
    terminal.close();
  }
}
