/**
 * What people are told by mail about their own account. Nothing secret is in it, and no link: whoever reads the mailbox
 * can do nothing with it.
 * @module
 */

/** What happened to an account. */
export type AccountEvent =
  | Readonly<{ kind: 'new_device'; address: string }>
  | Readonly<{ kind: 'recovery_code_used'; address: string }>
  | Readonly<{ kind: 'link_made' }>
  | Readonly<{ kind: 'secrets_set' }>
  | Readonly<{ kind: 'passkey_added' | 'passkey_removed' }>
  | Readonly<{ kind: 'passkey_copied' }>
  | Readonly<{ kind: 'mail_changed' | 'mail_removed' }>;

const subjects: Readonly<Record<AccountEvent['kind'], string>> = {
  new_device: 'a new browser signed in',
  recovery_code_used: 'a recovery code was used',
  link_made: 'a link to set a new password was made',
  secrets_set: 'password and second factor were set',
  passkey_added: 'a passkey was added',
  passkey_removed: 'a passkey was removed',
  passkey_copied: 'a passkey was refused',
  mail_changed: 'your mail address was changed',
  mail_removed: 'your mail address was removed',
};

function whatHappened(event: AccountEvent): string {
  switch (event.kind) {
    case 'new_device':
      return `A browser that was not used before signed in, from ${event.address}.`;
    case 'recovery_code_used':
      return `A recovery code took the place of the second factor, from ${event.address}.`;
    case 'link_made':
      return 'Whoever runs the installation made a link to set a new password and second factor. All sessions have ended.';
    case 'secrets_set':
      return 'A link was used to set a new password, second factor and recovery codes. Passkeys from before are gone.';
    case 'passkey_added':
      return 'A passkey was added, which signs in without a password. Other sessions have ended.';
    case 'passkey_removed':
      return 'A passkey was removed. Other sessions have ended.';
    case 'passkey_copied':
      return 'A passkey was used with a signature count that is not newer than the last: it may have been copied. It was refused.';
    case 'mail_changed':
      return 'Mails like this one go to another address from now on.';
    case 'mail_removed':
      return 'No more mails like this one are sent to you.';
  }
}

/** Returns the mail about an event, in UTC. @param name the person's */
export function accountMail(
  name: string,
  event: AccountEvent,
  atMs: number,
): Readonly<{ subject: string; text: string }> {
  const at = `${new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  const advice =
    event.kind === 'link_made'
      ? 'If you did not ask for it, ask whoever runs the installation who made it.'
      : 'If that was not you, ask whoever runs the installation at once for: quayside user reset';
  return { subject: `${name}: ${subjects[event.kind]}`, text: `${at}\n\n${whatHappened(event)}\n\n${advice}\n` };
}

/** Returns the mail with the code that proves an address. */
export const proofMail = (name: string, code: string): Readonly<{ subject: string; text: string }> => ({
  subject: `${name}: your code is ${code}`,
  text:
    `Somebody who is signed in as ${name} wants to be told at this address what happens to the account.\n\n` +
    `Code: ${code}\n\nType it on the page My account. If you do not know of this, ignore it: nothing more is sent.\n`,
});
