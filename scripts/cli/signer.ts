/**
 * Creates and shows the signer's keys, on the machine that has them. Seed phrases and passphrases are typed and are
 * never arguments or environment variables, because other users and the shell history could see those. Secrets are
 * written to the terminal, never to standard output.
 */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { generateMnemonic } from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import type { Family } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import { readLayers } from '../../src/config/layers.ts';
import { permanent } from '../../src/core/fault.ts';
import { isFields } from '../../src/core/fields.ts';
import { type HotRole, hotRoles } from '../../src/core/intent.ts';
import { type SignerFiles, signerFiles } from '../../src/signer/files.ts';
import { policyHashOf } from '../../src/signer/freeze.ts';
import { fingerprintOf, readKeystore, seedOf } from '../../src/signer/keystore.ts';
import { createOperatorKey } from '../../src/signer/operator-key.ts';
import { loadPolicy, type NetworkPolicy, type Policy } from '../../src/signer/policy.ts';
import { PASSPHRASE_BYTES_MIN } from '../../src/signer/sealed-file.ts';
import { makeSigner, refuseExistingSigner } from '../../src/signer/setup.ts';
import { openTerminal, type Terminal } from '../../src/signer/terminal.ts';
import { type Answer, type Input, type OfflineCommand, type Option, textOption, usage } from './command.ts';
import { capLines, draftPolicy, readPaidNetworks } from './signer-draft.ts';
import { table } from './table.ts';

const WORDS_BITS = 256;
const WORDS_ASKED = 3;
const TRIES_MAX = 3;

export const dirOption: Option = {
  value: 'DIR',
  help: 'the signer’s folder (default: as configured, or data/signer)',
};
const makingOptions: Readonly<Record<string, Option>> = {
  dir: dirOption,
  networks: { value: 'NAMES', help: 'comma-separated presets or configured networks (default: all configured)' },
  treasury: {
    value: 'NETWORK=ADDRESS',
    help: 'where sweeps go, comma-separated, by network key, name or family; if left out, you are asked',
  },
};

export const signerInit: OfflineCommand = {
  name: 'init',
  args: [],
  summary: 'Create a seed and its keystore, policy and journal; shows the seed phrase once, on the terminal.',
  options: {
    ...makingOptions,
    import: { help: 'take a seed phrase of 12 to 24 words, which you type, in place of a new one' },
    approver: {
      value: 'FILE',
      help: 'create only an approver’s key, in this new file, on the approver’s own machine',
    },
  },
  notes: [
    'An approver’s key signs refunds above the caps and ends a freeze of the signer (`quayside-signer approve`). Its file',
    'is encrypted; its public half, which is printed, goes into the policy.',
  ],
  runOffline(input) {
    const approver = textOption(input, 'approver');
    if (approver !== undefined) return createApprover(resolve(input.cwd, approver));
    return making(input, input.options.import === true ? askMnemonic : inventMnemonic);
  },
};

export const signerShow: OfflineCommand = {
  name: 'show',
  args: [],
  summary: 'Show the signer’s wallets on each network and the xpubs to configure; asks for the passphrase.',
  options: { dir: dirOption },
  runOffline: (input) =>
    withTerminal(async (terminal) => {
      const files = filesOf(input);
      const policy = loadPolicy(files.policy);
      return unlocked(files, terminal, (seed) => describe(files, policy, seed));
    }),
};

/** Opens the terminal for `work`, and restores it afterwards. */
export async function withTerminal<T>(work: (terminal: Terminal) => Promise<T>): Promise<T> {
  const terminal = openTerminal();
  try {
    return await work(terminal);
  } finally {
    terminal.close();
  }
}

/** Returns the files in the folder that `--dir` or the configuration names. */
export function filesOf(input: Input): SignerFiles {
  const given = textOption(input, 'dir');
  if (given !== undefined) return signerFiles(resolve(input.cwd, given));
  const { tree } = readLayers(input.env, input.cwd);
  const configured = isFields(tree.signer) ? tree.signer.dir : undefined;
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
    if (networks.length === 0) throw usage('no network is configured; name presets with --networks');
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

/** Creates an approver's key. A person copies its public half into the signer's policy. */
const createApprover = (file: string): Promise<Answer> =>
  withTerminal(async (terminal) => {
    const passphrase = await askNewPassphrase(terminal, 'Passphrase for the key');
    try {
      const approver = createOperatorKey(file, passphrase);
      return {
        json: { file, approver },
        lines: [
          `wrote the key to ${file}; its public half is ${approver}`,
          `Add {"name": "…", "key": "${approver}"} to "approvers" in the signer’s policy.json and restart the signer.`,
        ],
      };
    } finally {
      passphrase.fill(0);
    }
  });

/** Describes a signer. No secrets, except that the xpubs reveal all deposit addresses. */
async function describe(files: SignerFiles, policy: Policy, seed: Uint8Array): Promise<Answer> {
  const { networks } = policy;
  const fingerprint = fingerprintOf(seed);
  const policyHash = policyHashOf(readFileSync(files.policy, 'utf8'));
  const families = [...new Set(networks.map(({ family }) => family))];
  const accounts = new Map<Family, string | null>();
  const wallets: Record<'network' | 'refund' | 'gas' | 'treasury', string>[] = [];
  for (const family of families) {
    const keys = await chains[family].walletKeys?.();
    accounts.set(family, keys?.xpub(seed) ?? null);
    const addressOf = (role: HotRole, { walletIndices }: NetworkPolicy) => {
      const key = keys?.derive(seed, { role, index: walletIndices[role] });
      key?.secret.fill(0);
      return key ? chains[family].address.format(key.key) : '-';
    };
    for (const network of networks.filter((one) => one.family === family)) {
      const treasury = chains[family].address.format(network.spend.treasury);
      const [refund, gas] = hotRoles.map((role) => addressOf(role, network)) as [string, string];
      wallets.push({ network: network.key, refund, gas, treasury });
    }
  }
  const xpubs = [...accounts].flatMap(([family, xpub]) => (xpub === null ? [] : [[family, xpub] as const]));
  const listed = [...accounts].flatMap(([family, xpub]) => (xpub === null ? [family] : []));
  return {
    json: { dir: files.dir, fingerprint, policy_hash: policyHash, xpubs: Object.fromEntries(xpubs), wallets },
    lines: [
      `signer ${fingerprint} in ${files.dir}`,
      `policy ${policyHash}`,
      '',
      ...table([
        ['network', 'refund wallet', 'gas wallet', 'treasury'],
        ...wallets.map(({ network, refund, gas, treasury }) => [network, refund, gas, treasury]),
      ]),
      '',
      'Add to the configuration, so that sessions get deposit addresses of this seed:',
      ...xpubs.map(([family, xpub]) => `  ${family} networks: "xpub": "${xpub}"`),
      ...listed.map(
        (family) =>
          `  ${family} networks: run \`quayside address-pool derive\` with the seed phrase, then \`quayside address-pool import\``,
      ),
      '',
      ...networks.flatMap(({ key }) => [`${key}:`, ...capLines(policy, key)]),
      '',
      `Review the caps, fees and approvers in ${files.policy} before you send money to the wallets.`,
    ],
  };
}

/** Asks for the passphrase, opens the keystore for `work`, and wipes both. */
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
 * Asks for a seed phrase. @returns its seed, which the caller wipes
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

/**
 * Creates a seed phrase and checks that a person has written it down.
 * @throws Fault permanent `terminal_needed`, `words_not_confirmed`
 */
async function inventMnemonic(terminal: Terminal): Promise<Uint8Array> {
  if (!terminal.isInteractive) {
    throw permanent(
      'terminal_needed',
      'a new seed phrase is shown once, to a person at a terminal; run this at one, or use `quayside-signer init --import`',
    );
  }
  const words = generateMnemonic(wordlist, WORDS_BITS).split(' ');
  terminal.say('');
  terminal.say(
    'Write these 24 words on paper, in this order. Only they can restore your wallets. They are shown once and stored nowhere.',
  );
  terminal.say('');
  const rows = Math.ceil(words.length / 4);
  for (let row = 0; row < rows; row++) {
    const cells = [0, 1, 2, 3].map((column) => column * rows + row);
    terminal.say(cells.map((at) => `${String(at + 1).padStart(4)} ${(words[at] ?? '').padEnd(10)}`).join(''));
  }
  terminal.say('');
  await terminal.ask('Press Enter when they are on paper; the screen is then cleared. ');
  terminal.clear();
  for (let asked = 0, tries = 0; asked < WORDS_ASKED; ) {
    const at = randomInt(words.length);
    const answer = await terminal.askHidden(`Type word ${at + 1} to confirm (not shown): `);
    if (answer.toString('utf8').trim().toLowerCase() === words[at]) asked++;
    else if (++tries < TRIES_MAX) terminal.say(`That is not word ${at + 1}; check your paper.`);
    else
      throw permanent(
        'words_not_confirmed',
        'the words do not match those that were shown; nothing was created. Start again',
      );
  }
  return seedOf(words.join(' '));
}

/** Asks for a new passphrase, twice if a person types it. @throws Fault permanent `passphrase_differs` */
export async function askNewPassphrase(terminal: Terminal, what: string): Promise<Buffer> {
  const passphrase = await terminal.askHidden(`${what}, at least ${PASSPHRASE_BYTES_MIN} characters (not shown): `);
  if (!terminal.isInteractive) return passphrase;
  const again = await terminal.askHidden('Repeat it: ');
  const isSame = passphrase.equals(again);
  again.fill(0);
  if (isSame) return passphrase;
  passphrase.fill(0);
  throw permanent('passphrase_differs', 'the two passphrases differ; nothing was created. Start again');
}
