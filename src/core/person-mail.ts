/**
 * What people are told by mail: what happened to their account, and what the operator decided about their stores.
 * Nothing secret is in it but a code that proves an address, and no link: whoever reads the mailbox can do nothing with
 * it.
 * @module
 */

/**
 * Who may do more, or a key less: told to whoever owns the store, or runs the installation. `person`: who was added.
 * `hint`: the part of an API key by which people recognize it. `by`: who did it.
 */
export type AccessEvent =
  | Readonly<{ kind: 'member_added'; store: string; person: string; role: string; by: string }>
  | Readonly<{ kind: 'operator_added'; person: string; by: string }>
  | Readonly<{ kind: 'key_made' | 'key_revoked'; store: string; hint: string; by: string }>;

/** What happened to an account or a store. `code`: somebody wants to prove the address that the mail goes to. */
export type AccountEvent =
  | Readonly<{ kind: 'new_device' | 'recovery_code_used'; address: string }>
  | Readonly<{
      kind:
        | 'link_made'
        | 'secrets_set'
        | 'password_changed'
        | 'app_replaced'
        | 'recovery_codes_made'
        | 'passkey_added'
        | 'passkey_removed'
        | 'passkey_copied'
        | 'mail_changed'
        | 'mail_removed';
    }>
  | Readonly<{ kind: 'code'; code: string }>
  | Readonly<{ kind: 'store_approved'; store: string }>
  | Readonly<{ kind: 'store_refused'; store: string; reason: string }>
  | AccessEvent;

/** An event, for whom, and how: nulls where the person has chosen neither a language nor a time zone. */
export type AccountNews = Readonly<{
  name: string;
  language: string | null;
  zone: string | null;
  event: AccountEvent;
  atMs: number;
}>;
