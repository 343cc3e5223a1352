/**
 * The signer's keys, on the machine that holds them. Seed phrases and passphrases are asked for and never are arguments or variables, which
 * other users and shell histories see. What is secret is written to the terminal, never to standard output.
 * @module
 */
import { randomInt } from 'node:crypto';
import { resolve } from 'node:path';
import { generateMnemonic } from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import type { Family } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import { isTree, readLayers } from '../../src/config/layers.ts';
import { permanent } from '../../src/core/fault.ts';
import { type SignerFiles, signerFiles } from '../../src/signer/files.ts';
import { fingerprintOf, readKeystore, replaceKeystore, seedOf } from '../../src/signer/keystore.ts';
import { loadPolicy, type Policy } from '../../src/signer/policy.ts';
import { PASSPHRASE_BYTES_MIN } from '../../src/signer/sealed-file.ts';
import { makeSigner, refuseExistingSigner } from '../../src/signer/setup.ts';
import { openTerminal, type Terminal } from '../../src/signer/terminal.ts';
import { type Answer, type Input, type OfflineCommand, type Option, table, textOption, usage } from './command.ts';
import { draftPolicy, readPaidNetworks } from './signer-policy.ts';

const WORDS_BITS = 256;
const WORDS_ASKED = 3;
const TRIES_MAX = 3;
/** Clears the screen and what was scrolled out of it. */
const CLEAR = '\u001b[2J\u001b[3J\u001b[H';

export const dirOption: Option = {
  value: 'DIR',
  help: 'the signer’s folder; by default the one of the configuration, or data/signer',
};
const makingOptions: Readonly<Record<string, Option>> = {
  dir: dirOption,
  networks: { value: 'NAMES', help: 'presets or configured networks, with commas; by default all that are configured' },
  treasury: {
    value: 'NETWORK=ADDRESS',
    help: 'where sweeps go, with commas; the network’s key, name or family. Asked for when left out',
  },
};

export const signerInit: OfflineCommand = {
  name: 'signer init',
  args: [],
  summary: 'Make a new seed, its keystore, policy and journal; shows the seed phrase once, on the terminal.',
  options: makingOptions,
  runOffline: (input) => making(input, inventMnemonic),
};

export const signerImport: OfflineCommand = {
  name: 'signer import',
  args: [],
  summary: 'Make keystore, policy and journal for a seed phrase of 12 to 24 words, which is asked for.',
  options: makingOptions,
  runOffline: (input) => making(input, askMnemonic),
};

export const signerShow: OfflineCommand = {
  name: 'signer show',
  args: [],
  summary:
    'Show the addresses of the signer’s wallets on each network, and the xpubs to configure; asks for the passphrase.',
  options: { dir: dirOption },
  runOffline: (input) =>
    withTerminal(async (terminal) => {
      const files = filesOf(input);
      const policy = loadPolicy(files.policy);
      return unlocked(files, terminal, (seed) => describe(files, policy, seed));
    }),
};

export const signerChangePassphrase: OfflineCommand = {
  name: 'signer change-passphrase',
  args: [],
  summary: 'Seal the keystore under another passphrase; the keys stay the same.',
  options: { dir: dirOption },
  runOffline: (input) =>
    withTerminal((terminal) => {
      const files = filesOf(input);
      return unlocked(files, terminal, async (seed) => {
        const passphrase = await askNewPassphrase(terminal, 'New passphrase');
        try {
          replaceKeystore(files.keystore, seed, passphrase);
        } finally {
          passphrase.fill(0);
        }
        return {
          json: { keystore: files.keystore, changed: true },
          lines: [
            `${files.keystore} opens with the new passphrase only. Change it also where the signer reads it at its start.`,
          ],
        };
      });
    }),
};

/** Runs a conversation at the terminal, and leaves the terminal as it was. */
export async function withTerminal<T>(work: (terminal: Terminal) => Promise<T>): Promise<T> {
  const terminal = openTerminal();
  try {
    return await work(terminal);
  } finally {
    terminal.close();
  }
}

/** The folder that `--dir` names, or the configuration's. */
export function filesOf(input: Input): SignerFiles {
  const given = textOption(input, 'dir');
  if (given !== undefined) return signerFiles(resolve(input.cwd, given));
  const { tree } = readLayers(input.env, input.cwd);
  const configured = isTree(tree.signer) ? tree.signer.dir : undefined;
  return signerFiles(resolve(String(tree.data_dir), typeof configured === 'string' ? configured : 'signer'));
}

const making = (input: Input, findSeed: (terminal: Terminal) => Promise<Uint8Array>): Promise<Answer> =>
  withTerminal(async (terminal) => {
    const files = filesOf(input);
    refuseExistingSigner(files.dir);
    const names = textOption(input, 'networks')
      ?.split(',')
      .map((name) => name.trim());
    const networks = readPaidNetworks(input, names, usage);
    if (networks.length === 0) throw usage('no network is configured: name presets with --networks');
    const policy = await draftPolicy(networks, textOption(input, 'treasury'), terminal);
    const seed = await findSeed(terminal);
    try {
      const passphrase = await askNewPassphrase(terminal, 'Passphrase for the keystore');
      try {
        makeSigner(files.dir, seed, passphrase, policy);
      } finally {
        passphrase.fill(0);
      }
      return await describe(files, loadPolicy(files.policy), seed);
    } finally {
      seed.fill(0);
    }
  });

/** What an operator needs to know of a signer: nothing of it is secret but the xpubs, which tell all addresses. */
async function describe(files: SignerFiles, { networks }: Policy, seed: Uint8Array): Promise<Answer> {
  const fingerprint = fingerprintOf(seed);
  const families = [...new Set(networks.map(({ family }) => family))];
  const accounts = new Map<Family, string | null>();
  const wallets: Record<'network' | 'refund' | 'gas' | 'treasury', string>[] = [];
  for (const family of families) {
    const spending = await chains[family].spending?.();
    accounts.set(family, spending?.xpub(seed) ?? null);
    const addressOf = (role: 'refund' | 'gas') => {
      const key = spending?.derive(seed, { role });
      key?.secret.fill(0);
      return key ? chains[family].address.format(key.key) : '-';
    };
    for (const { key, spend } of networks.filter((network) => network.family === family)) {
      const treasury = chains[family].address.format(spend.treasury);
      wallets.push({ network: key, refund: addressOf('refund'), gas: addressOf('gas'), treasury });
    }
  }
  const xpubs = [...accounts].flatMap(([family, xpub]) => (xpub === null ? [] : [[family, xpub] as const]));
  const listed = [...accounts].flatMap(([family, xpub]) => (xpub === null ? [family] : []));
  return {
    json: { dir: files.dir, fingerprint, xpubs: Object.fromEntries(xpubs), wallets },
    lines: [
      `signer ${fingerprint} in ${files.dir}`,
      '',
      ...table([
        ['network', 'refund wallet', 'gas wallet', 'treasury'],
        ...wallets.map(({ network, refund, gas, treasury }) => [network, refund, gas, treasury]),
      ]),
      '',
      'Put into the configuration, so that sessions get addresses of this seed:',
      ...xpubs.map(([family, xpub]) => `  ${family} networks: "xpub": "${xpub}"`),
      ...listed.map(
        (family) =>
          `  ${family} networks: \`quayside address-pool derive\` with the seed phrase, then \`address-pool import\``,
      ),
      '',
      `Caps, fees and approvers stand in ${files.policy}: read them once before money is there.`,
    ],
  };
}

/** Opens the keystore with a passphrase that is asked for, and wipes both. */
async function unlocked<T>(
  files: SignerFiles,
  terminal: Terminal,
  work: (seed: Uint8Array) => T | Promise<T>,
): Promise<T> {
  const keystore = readKeystore(files.keystore);
  const passphrase = await terminal.askHidden('Passphrase of the keystore (not shown): ');
  let seed: Uint8Array;
  try {
    seed = keystore.unlock(passphrase);
  } finally {
    passphrase.fill(0);
  }
  try {
    return await work(seed);
  } finally {
    seed.fill(0);
  }
}

/**
 * The seed of a phrase that somebody types, which the caller wipes.
 * @throws Fault permanent `seed_invalid`
 */
export async function askMnemonic(terminal: Terminal): Promise<Uint8Array> {
  const words = await terminal.askHidden('Seed phrase (not shown): ');
  try {
    return seedOf(words.toString('utf8'));
  } finally {
    words.fill(0);
  }
}

/** New words, which a person must have written down. @throws Fault permanent `terminal_needed`, `words_not_confirmed` */
async function inventMnemonic(terminal: Terminal): Promise<Uint8Array> {
  if (!terminal.isInteractive) {
    throw permanent(
      'terminal_needed',
      'a new seed phrase is shown to a person at a terminal, once; run this at one, or `quayside signer import`',
    );
  }
  const words = generateMnemonic(wordlist, WORDS_BITS).split(' ');
  terminal.say(
    '\nWrite these 24 words on paper, in this order. They are all that restores your wallets, are shown this once, and are kept nowhere.\n',
  );
  const rows = Math.ceil(words.length / 4);
  for (let row = 0; row < rows; row++) {
    const cells = [0, 1, 2, 3].map((column) => column * rows + row);
    terminal.say(cells.map((at) => `${String(at + 1).padStart(4)} ${(words[at] ?? '').padEnd(10)}`).join(''));
  }
  await terminal.ask('\nPress Enter when they are on paper; the screen is cleared then. ');
  terminal.say(CLEAR);
  for (let asked = 0, tries = 0; asked < WORDS_ASKED; ) {
    const at = randomInt(words.length);
    const answer = await terminal.askHidden(`To be sure, word ${at + 1} (not shown): `);
    if (answer.toString('utf8').trim().toLowerCase() === words[at]) asked++;
    else if (++tries < TRIES_MAX) terminal.say(`That is not word ${at + 1}; look again.`);
    else
      throw permanent(
        'words_not_confirmed',
        'the words on paper are not those that were shown; nothing was made. Start again',
      );
  }
  return seedOf(words.join(' '));
}

/** Asked twice where a person types. @throws Fault permanent `passphrase_weak`, `passphrase_differs` */
export async function askNewPassphrase(terminal: Terminal, what: string): Promise<Buffer> {
  const passphrase = await terminal.askHidden(`${what}, at least ${PASSPHRASE_BYTES_MIN} characters (not shown): `);
  if (!terminal.isInteractive) return passphrase;
  const again = await terminal.askHidden('The same again: ');
  const isSame = passphrase.equals(again);
  again.fill(0);
  if (isSame) return passphrase;
  passphrase.fill(0);
  throw permanent('passphrase_differs', 'the two are not the same; nothing was made. Start again');
}
