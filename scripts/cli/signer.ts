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
import { chains } from '../../src/chains/index.ts';
import { permanent } from '../../src/core/fault.ts';
import { hotRoles } from '../../src/core/intent.ts';
import type { SignerFiles } from '../../src/signer/files.ts';
import { policyHashOf } from '../../src/signer/freeze.ts';
import { fingerprintOf, readKeystore, seedOf } from '../../src/signer/keystore.ts';
import { createOperatorKey } from '../../src/signer/operator-key.ts';
import { loadPolicy, type Policy } from '../../src/signer/policy.ts';
import { makeSigner, refuseExistingSigner } from '../../src/signer/setup.ts';
import type { Terminal } from '../../src/signer/terminal.ts';
import { configuredNames } from '../nodes/network.ts';
import { type Answer, type Input, type OfflineCommand, recordAnswer, textOption, usage } from './command.ts';
import { dirOption, draftPolicy, filesOf, readPaidNetworks } from './signer-policy.ts';
import { askMnemonic, askNewPassphrase, withSecret, withTerminal } from './terminal.ts';

const WORDS_BITS = 256;
const WORDS_ASKED = 3;
const TRIES_MAX = 3;

export const signerInit: OfflineCommand = {
  name: 'init',
  summary: 'Create a seed and its keystore, policy and journal; shows the seed phrase once, on the terminal.',
  options: {
    dir: dirOption,
    treasury: {
      value: 'NETWORK=ADDRESS',
      help: 'where sweeps go, comma-separated, by network key, name or family',
    },
    import: { help: 'take a seed phrase of 12 to 24 words, which you type, in place of a new one' },
    key: { value: 'FILE', help: 'create only an approver’s key, in this new file, on the approver’s own machine' },
  },
  notes: [
    'An approver’s key signs refunds above the caps and ends a freeze of the signer (`quayside-signer approve`). Its file ' +
      'is encrypted; its public half, which is printed, goes into the policy.',
  ],
  runOffline(input) {
    const approver = textOption(input, 'key');
    if (approver !== undefined) return createApprover(resolve(input.cwd, approver));
    return createSigner(input, input.options.import === true ? askMnemonic : inventMnemonic);
  },
};

export const signerShow: OfflineCommand = {
  name: 'show',
  summary: 'Show the signer’s wallets on each network and the xpubs to configure; asks for the passphrase.',
  options: { dir: dirOption },
  runOffline: (input) =>
    withTerminal(async (terminal) => {
      const files = filesOf(input);
      const policy = loadPolicy(files.policy);
      const keystore = readKeystore(files.keystore);
      const typed = terminal.askHidden('Passphrase of the keystore (not shown): ');
      const seed = withSecret(typed, (passphrase) => keystore.unlock(passphrase));
      return withSecret(seed, (unlocked) => describe(files, policy, unlocked));
    }),
};

const createSigner = (input: Input, findSeed: (terminal: Terminal) => Promise<Uint8Array>): Promise<Answer> =>
  withTerminal(async (terminal) => {
    const files = filesOf(input);
    refuseExistingSigner(files.dir);
    const names = configuredNames(input);
    if (names.length === 0)
      throw usage('no network is configured: name one under `networks` in the settings (docs/networks.md)');
    const policy = draftPolicy(readPaidNetworks(input, names), textOption(input, 'treasury') ?? '');
    return withSecret(findSeed(terminal), async (seed) => {
      const typed = askNewPassphrase(terminal, 'Passphrase for the keystore');
      await withSecret(typed, (passphrase) => makeSigner(files.dir, seed, passphrase, policy));
      return describe(files, loadPolicy(files.policy), seed);
    });
  });

/** Creates an approver's key. A person copies its public half into the signer's policy. */
const createApprover = (file: string): Promise<Answer> =>
  withTerminal((terminal) =>
    withSecret(askNewPassphrase(terminal, 'Passphrase for the key'), (passphrase) => {
      const approver = createOperatorKey(file, passphrase);
      const next = `Add {"name": "…", "key": "${approver}"} to "approvers" in the signer’s policy.json and restart the signer.`;
      return recordAnswer({ file, approver }, [next]);
    }),
  );

/** Describes a signer. No secrets, except that the xpubs reveal all deposit addresses. */
async function describe(files: SignerFiles, policy: Policy, seed: Uint8Array): Promise<Answer> {
  const { networks } = policy;
  const fingerprint = fingerprintOf(seed);
  const policyHash = policyHashOf(readFileSync(files.policy, 'utf8'));
  const xpubs: Record<string, string> = {};
  const wallets: Record<'network' | 'refund' | 'gas' | 'treasury', string>[] = [];
  for (const { key: network, family, spend, walletIndices } of networks) {
    const { address, spending } = chains[family];
    const keys = await spending();
    const xpub = keys.xpub(seed);
    if (xpub) xpubs[family] = xpub;
    const [refund = '', gas = ''] = hotRoles.map((role) => {
      const { key, secret } = keys.derive(seed, { role, index: walletIndices[role] });
      secret.fill(0);
      return address.format(key);
    });
    wallets.push({ network, refund, gas, treasury: address.format(spend.treasury) });
  }
  const listed = [...new Set(networks.map(({ family }) => family))].filter((family) => !(family in xpubs));
  return recordAnswer({ dir: files.dir, fingerprint, policy_hash: policyHash, xpubs, wallets }, [
    'Add to the configuration, so that sessions get deposit addresses of this seed:',
    ...Object.entries(xpubs).map(([family, xpub]) => `  ${family} networks: "xpub": "${xpub}"`),
    ...listed.map(
      (family) =>
        `  ${family} networks: run \`quayside address-pool derive\` with the seed phrase, then \`quayside address-pool import\``,
    ),
    '',
    `Review the caps, fees and approvers in ${files.policy} before you send money to the wallets.`,
  ]);
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
