/**
 * Solana's own virtual machine with its real token programs. It executes instructions and returns what a node's
 * `getBlock` would: the transactions with `transactionDetails: "accounts"`. Balances before and after are read from the
 * accounts themselves, as Agave reads them (`ledger/src/token_balances.rs`): every token account that the transaction
 * names, of either token program.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { base58 } from '@scure/base';
import {
  type AccountMeta,
  Message,
  PublicKey,
  SystemProgram,
  TransactionInstruction,
  TransactionMessage,
} from '@solana/web3.js';
import { LiteSVM } from 'litesvm';

export const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
export const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
const ATA_PROGRAM = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL';
const SYSTEM = '11111111111111111111111111111111';
const MINT_BYTES = 82;
const ACCOUNT_BYTES = 165;
/** SetAuthority's number for the owner of a token account. */
const ACCOUNT_OWNER = 2;

type Svm = LiteSVM;
type SvmAddress = Parameters<Svm['getAccount']>[0];
type SvmTransaction = Parameters<Svm['sendTransaction']>[0];

/** Anyone with a private key: a wallet, or the one-time key of a new account. */
export type Signer = Readonly<{ address: string; secret: Uint8Array }>;

export const signerOf = (name: string): Signer => {
  const secret = sha256(new TextEncoder().encode(`signer ${name}`));
  return { secret, address: base58.encode(ed25519.getPublicKey(secret)) };
};

const publicKey = (address: string): PublicKey => new PublicKey(address);
const bytesOf = (address: string): Uint8Array => base58.decode(address);
const u64 = (value: bigint): Uint8Array => new Uint8Array(new BigUint64Array([value]).buffer);
const join = (...parts: readonly (Uint8Array | number)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'number' ? Buffer.from([part]) : Buffer.from(part))));

const signer = (address: string, isWritable = false) => ({ pubkey: publicKey(address), isSigner: true, isWritable });
const writable = (address: string) => ({ pubkey: publicKey(address), isSigner: false, isWritable: true });
const reader = (address: string) => ({ pubkey: publicKey(address), isSigner: false, isWritable: false });

/** @param keys in the order in which the program reads them */
const call = (program: string, keys: readonly AccountMeta[], data: Buffer): TransactionInstruction =>
  new TransactionInstruction({ programId: publicKey(program), keys: [...keys], data });

// ── Instructions, as the programs read them (spl-token `instruction.rs`) ─────────────────────────────────────────────

export const createAccount = (payer: string, account: string, lamports: bigint, space: number, program: string) =>
  SystemProgram.createAccount({
    fromPubkey: publicKey(payer),
    newAccountPubkey: publicKey(account),
    programId: publicKey(program),
    lamports: Number(lamports),
    space,
  });

const initializeMint = (mint: string, decimals: number, authority: string, program: string) =>
  call(program, [writable(mint)], join(20, decimals, bytesOf(authority), 0));

export const initializeAccount = (account: string, mint: string, owner: string, program = TOKEN) =>
  call(program, [writable(account), reader(mint)], join(18, bytesOf(owner)));

const mintTo = (mint: string, account: string, authority: string, units: bigint, program: string) =>
  call(program, [writable(mint), writable(account), signer(authority)], join(7, u64(units)));

export const transfer = (from: string, to: string, owner: string, units: bigint, program = TOKEN) =>
  call(program, [writable(from), writable(to), signer(owner)], join(3, u64(units)));

export const transferChecked = (
  from: string,
  mint: string,
  to: string,
  owner: string,
  units: bigint,
  decimals: number,
  program = TOKEN,
) => call(program, [writable(from), reader(mint), writable(to), signer(owner)], join(12, u64(units), decimals));

export const setOwner = (account: string, owner: string, newOwner: string) =>
  call(TOKEN, [writable(account), signer(owner)], join(6, ACCOUNT_OWNER, 1, bytesOf(newOwner)));

export const closeAccount = (account: string, destination: string, owner: string) =>
  call(TOKEN, [writable(account), writable(destination), signer(owner)], join(9));

/** Returns the owner's own token account for a mint: a program-derived address, off the curve. */
export function ataOf(owner: string, mint: string, program = TOKEN): string {
  const seeds = [owner, program, mint].map(bytesOf);
  return PublicKey.findProgramAddressSync(seeds, publicKey(ATA_PROGRAM))[0].toBase58();
}

export const createAta = (payer: string, owner: string, mint: string, program = TOKEN) => {
  const account = ataOf(owner, mint, program);
  const others = [owner, mint, SYSTEM, program].map(reader);
  return call(ATA_PROGRAM, [signer(payer, true), writable(account), ...others], join(1));
};

/**
 * Moves tokens in an account of an account back to the wallet: the program calls the token program, signing for itself.
 */
export const recoverNested = (wallet: string, mint: string) => {
  const ownerAta = ataOf(wallet, mint);
  const nested = [writable(ataOf(ownerAta, mint)), reader(mint), writable(ownerAta), reader(ownerAta), reader(mint)];
  return call(ATA_PROGRAM, [...nested, signer(wallet, true), reader(TOKEN)], join(2));
};

/** Several token instructions as one: the token program executes them inside. */
export const batch = (instructions: readonly TransactionInstruction[]) =>
  call(
    TOKEN,
    instructions.flatMap(({ keys }) => keys),
    join(255, ...instructions.flatMap(({ keys, data }) => [keys.length, data.length, data])),
  );

// ── The bank ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A bank with money to mint. */
export type SvmBank = ReturnType<typeof openSvmBank>;
/** A transaction as `getBlock` shows it. */
export type ShownTransaction = ReturnType<SvmBank['run']>;

export function openSvmBank() {
  const svm = new LiteSVM();
  const minter = signerOf('minter');
  svm.airdrop(minter.address as SvmAddress, 1_000_000_000_000n as Parameters<Svm['airdrop']>[1]);

  const read = (address: string) => {
    const account = svm.getAccount(address as SvmAddress);
    return account.exists ? account : null;
  };

  function tokenBalances(addresses: readonly string[]) {
    return addresses.flatMap((address, accountIndex) => {
      const account = read(address);
      if (!account || (account.programAddress !== TOKEN && account.programAddress !== TOKEN_2022)) return [];
      const data = Buffer.from(account.data);
      if (data.length < ACCOUNT_BYTES) return [];
      const mint = base58.encode(data.subarray(0, 32));
      const decimals = Buffer.from(read(mint)?.data ?? []).readUInt8(44);
      const amount = data.readBigUInt64LE(64);
      const uiAmount = Number(amount) / 10 ** decimals;
      return [
        {
          accountIndex,
          mint,
          owner: base58.encode(data.subarray(32, 64)),
          programId: account.programAddress as string,
          uiTokenAmount: {
            amount: String(amount),
            decimals,
            uiAmount: amount === 0n ? null : uiAmount,
            uiAmountString: String(uiAmount),
          },
        },
      ];
    });
  }

  const lamports = (addresses: readonly string[]) => addresses.map((address) => Number(read(address)?.lamports ?? 0n));

  /** Executes a transaction that the first signer pays for. */
  function run(signers: readonly Signer[], instructions: readonly TransactionInstruction[]) {
    const [payer] = signers;
    if (!payer) throw new Error('a transaction has a payer');
    const content = { payerKey: publicKey(payer.address), recentBlockhash: svm.latestBlockhash() };
    const message = new TransactionMessage({ ...content, instructions: [...instructions] });
    return execute(message.compileToLegacyMessage(), signers);
  }

  function execute(message: Message, signers: readonly Signer[]) {
    const messageBytes = message.serialize();
    const keys = message.accountKeys.map((key, at) => ({
      address: key.toBase58(),
      isSigner: message.isAccountSigner(at),
      isWritable: message.isAccountWritable(at),
    }));
    const addresses = keys.map(({ address }) => address);
    const signatures = Object.fromEntries(
      keys
        .filter(({ isSigner }) => isSigner)
        .map(({ address }) => {
          const own = signers.find((one) => one.address === address);
          if (!own) throw new Error(`${address} does not sign`);
          return [address, ed25519.sign(messageBytes, own.secret)];
        }),
    );
    const [preBalances, preTokenBalances] = [lamports(addresses), tokenBalances(addresses)];
    const outcome = svm.sendTransaction({ messageBytes, signatures } as unknown as SvmTransaction);
    svm.expireBlockhash();
    const failed = 'err' in outcome;
    const err = failed ? { InstructionError: [0, { Custom: 1 }] } : null;
    return {
      meta: {
        err,
        fee: 5000 * signers.length,
        postBalances: lamports(addresses),
        postTokenBalances: tokenBalances(addresses),
        preBalances,
        preTokenBalances,
        status: err ? { Err: err } : { Ok: null },
      },
      transaction: {
        accountKeys: keys.map((key) => ({
          pubkey: key.address,
          signer: key.isSigner,
          source: 'transaction',
          writable: key.isWritable,
        })),
        signatures: Object.values(signatures).map((signature) => base58.encode(signature)),
      },
      version: 'legacy',
    };
  }

  /** Signs and executes a transaction that somebody else built, as the payer's wallet and a node do. */
  function sendUnsigned(transaction: Uint8Array, signers: readonly Signer[]) {
    const places = transaction[0] ?? 0;
    return execute(Message.from(transaction.slice(1 + 64 * places)), signers);
  }

  const rent = (space: number): bigint => svm.minimumBalanceForRentExemption(BigInt(space));

  /** Executes what must succeed. */
  function prepare(signers: readonly Signer[], instructions: readonly TransactionInstruction[]): void {
    const { meta } = run(signers, instructions);
    if (meta.err !== null) throw new Error(`a preparation failed: ${JSON.stringify(meta.err)}`);
  }

  return {
    run,
    sendUnsigned,
    blockhash: (): string => svm.latestBlockhash(),
    rent,
    /** Base units in a token account; zero when there is none. */
    balance: (account: string): bigint => Buffer.from(read(account)?.data ?? new Uint8Array(72)).readBigUInt64LE(64),
    lamportsOf: (address: string): bigint => read(address)?.lamports ?? 0n,
    /** Mints into an account of the classic program. */
    mint: (account: string, mint: string, units: bigint) =>
      run([minter], [mintTo(mint, account, minter.address, units, TOKEN)]),
    /** Makes a mint of either program. @returns its address */
    makeMint(name: string, decimals: number, program = TOKEN): string {
      const mint = signerOf(`mint ${name}`);
      prepare(
        [minter, mint],
        [
          createAccount(minter.address, mint.address, rent(MINT_BYTES), MINT_BYTES, program),
          initializeMint(mint.address, decimals, minter.address, program),
        ],
      );
      return mint.address;
    },
    giveCoins(address: string, lamports: bigint): void {
      svm.airdrop(address as SvmAddress, lamports as Parameters<Svm['airdrop']>[1]);
    },
    /** Gives the owner lamports, and tokens in its own account. @returns the account's address */
    fund(owner: string, mint: string, units: bigint, program = TOKEN): string {
      const account = ataOf(owner, mint, program);
      svm.airdrop(owner as SvmAddress, 1_000_000_000n as Parameters<Svm['airdrop']>[1]);
      prepare(
        [minter],
        [createAta(minter.address, owner, mint, program), mintTo(mint, account, minter.address, units, program)],
      );
      return account;
    },
  };
}
