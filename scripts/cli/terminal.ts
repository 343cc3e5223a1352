/** Questions to a person at the terminal. A secret that was typed is wiped. */
import { permanent } from '../../src/core/fault.ts';
import { seedOf } from '../../src/signer/keystore.ts';
import { PASSPHRASE_BYTES_MIN } from '../../src/signer/sealed-file.ts';
import { openTerminal, type Terminal } from '../../src/signer/terminal.ts';
import { type Input, type Option, usage } from './command.ts';

export const yesOption: Option = { help: 'do not ask' };

/** Opens the terminal for `work`, and restores it afterwards. */
export async function withTerminal<T>(work: (terminal: Terminal) => Promise<T>): Promise<T> {
  const terminal = openTerminal();
  try {
    return await work(terminal);
  } finally {
    terminal.close();
  }
}

/**
 * Shows lines to a person and asks, unless `--yes` is given.
 * @param isOptional without a terminal, where nobody can be asked, it goes on
 * @throws Fault permanent `usage` if nobody can be asked, `not_agreed`
 */
export async function agree(
  input: Input,
  lines: readonly string[],
  question: string,
  isOptional = false,
): Promise<void> {
  if (input.options.yes === true) return;
  await withTerminal(async (terminal) => {
    if (!terminal.isInteractive && isOptional) return;
    if (!terminal.isInteractive)
      throw usage(['nobody can be asked here: look at this, then add --yes', ...lines].join('\n'));
    for (const line of lines) terminal.say(line);
    if (/^y(es)?$/i.test(await terminal.ask(`${question} [y/N] `))) return;
    throw permanent('not_agreed', 'nothing was changed: the answer was not yes');
  });
}

/** Gives `work` a secret that a person types, and wipes it. */
export async function withSecret<T, S extends Uint8Array>(
  secret: S | Promise<S>,
  work: (secret: S) => T | Promise<T>,
): Promise<T> {
  const typed = await secret;
  try {
    return await work(typed);
  } finally {
    typed.fill(0);
  }
}

/** Asks for a seed phrase. @returns its seed @throws Fault permanent `seed_invalid` */
export const askMnemonic = (terminal: Terminal): Promise<Uint8Array> =>
  withSecret(terminal.askHidden('Seed phrase (not shown): '), (words) => seedOf(words.toString('utf8')));

/** Asks for a new passphrase, twice if a person types it. @throws Fault permanent `passphrase_differs` */
export async function askNewPassphrase(terminal: Terminal, what: string): Promise<Buffer> {
  const passphrase = await terminal.askHidden(`${what}, at least ${PASSPHRASE_BYTES_MIN} characters (not shown): `);
  if (!terminal.isInteractive) return passphrase;
  const isSame = await withSecret(terminal.askHidden('Repeat it: '), (again) => passphrase.equals(again));
  if (isSame) return passphrase;
  passphrase.fill(0);
  throw permanent('passphrase_differs', 'the two passphrases differ; nothing was created. Start again');
}
