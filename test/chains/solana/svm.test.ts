/**
 * Changes of balances by Solana's own virtual machine, read by our decoder: the real token programs execute each way to
 * pay, that of a payer's wallet first, and each way to seem to.
 */
import { base58 } from '@scure/base';
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RawContent } from '../../../src/chains/chain.ts';
import { solanaAddress } from '../../../src/chains/solana/address.ts';
import { unsignedPayment } from '../../../src/chains/solana/payment-transaction.ts';
import { tokenAccountOf } from '../../../src/chains/solana/token-account.ts';
import { solanaWire } from '../../../src/chains/solana/wire.ts';
import type { ChainTransfer, Token } from '../../../src/core/transfer.ts';
import {
  ataOf,
  batch,
  closeAccount,
  createAccount,
  createAta,
  initializeAccount,
  openSvmBank,
  recoverNested,
  type ShownTransaction,
  setOwner,
  signerOf,
  TOKEN,
  TOKEN_2022,
  transfer,
  transferChecked,
} from './svm-bank.ts';

const ACCOUNT_BYTES = 165;
const bank = openSvmBank();
const usdt = bank.makeMint('USDT', 6);
const usdc = bank.makeMint('USDC', 9);
const lookalike = bank.makeMint('look-alike', 6);
const modern = bank.makeMint('modern', 6, TOKEN_2022);
const tokens: readonly Token[] = [
  { symbol: 'USDT', address: usdt, decimals: 6 },
  { symbol: 'USDC', address: usdc, decimals: 9 },
];
const payer = signerOf('payer');
const [payerUsdt, payerUsdc] = [
  bank.fund(payer.address, usdt, 10_000_000_000n),
  bank.fund(payer.address, usdc, 10_000_000_000n),
];

const keyOf = (address: string): string => solanaAddress.parse(address) ?? '';
const payerKey = keyOf(payer.address);
let payees = 0;
/** A payee without payments so far. */
const freshPayee = () => signerOf(`payee ${payees++}`);

const block = {
  hash: signerOf('block').address,
  parent: signerOf('parent').address,
  number: 1000,
  timeS: 1_790_000_000,
};

/** A whole answer to `getBlock`, members in the order of their names, as Agave writes them. */
function contentOf(transactions: readonly ShownTransaction[], kind: string): RawContent {
  const result = {
    blockHeight: 900,
    blockTime: block.timeS,
    blockhash: block.hash,
    parentSlot: block.number - 1,
    previousBlockhash: block.parent,
    transactions,
  };
  return {
    block,
    kind,
    bytes: Buffer.from(JSON.stringify({ jsonrpc: '2.0', result, id: 1 })),
    context: { host: 'svm' },
  };
}

/** Returns the block's transfers to these addresses, by both ways to read it, which must agree. */
function credited(transactions: readonly ShownTransaction[], addresses: readonly string[]): ChainTransfer[] {
  const keys = new Set(addresses.map(keyOf));
  const read = (kind: string) => solanaWire.decode(contentOf(transactions, kind), tokens, (key) => keys.has(key));
  const whole = read('whole');
  assert.equal(read('slices'), whole);
  return whole;
}

const brief = ({ currency, from, to, units }: ChainTransfer) => [currency, from, to, units];

/** Executes what must work. */
function ran(...args: Parameters<typeof bank.run>): ShownTransaction {
  const shown = bank.run(...args);
  assert.is(shown.meta.err, null);
  return shown;
}

const payment = (recipient: string, units: bigint, change: object = {}) =>
  unsignedPayment({
    payer: payerKey,
    recipient: keyOf(recipient),
    mint: keyOf(usdt),
    units,
    decimals: 6,
    blockhash: bank.blockhash(),
    ...change,
  });

test('the payment that a payer’s wallet signs arrives, once and again, whether or not there is an account for it', () => {
  for (const isThere of [true, false]) {
    const payee = freshPayee().address;
    if (isThere) bank.fund(payee, usdt, 7n);
    for (const units of [1n, 10_500_000n]) {
      const shown = bank.sendUnsigned(payment(payee, units), [payer]);
      const found = credited([shown], [payee]);
      assert.equal(found.map(brief), [['USDT', payerKey, keyOf(payee), units]]);
      assert.is(found[0]?.tx, shown.transaction.signatures[0]);
    }
  }
});

test('nothing moves with other decimals than the mint has, more than the payer has, or an old block', () => {
  const payee = freshPayee().address;
  const old = bank.blockhash();
  bank.fund(signerOf('time passes').address, usdt, 1n);
  for (const refused of [
    payment(payee, 1n, { decimals: 9 }),
    payment(payee, 2n ** 64n - 1n),
    payment(payee, 1n, { blockhash: old }),
  ]) {
    const shown = bank.sendUnsigned(refused, [payer]);
    assert.is.not(shown.meta.err, null);
    assert.equal(credited([shown], [payee]), []);
  }
});

test('token accounts have the addresses that the program derives', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (owner) => {
      const own = base58.encode(tokenAccountOf(owner, base58.decode(usdt)));
      assert.is(own, ataOf(base58.encode(owner), usdt));
    }),
    { numRuns: 50 },
  );
});

test('two recipients and two tokens in one transaction are four transfers with indexes of their own', () => {
  const [one, two] = [freshPayee().address, freshPayee().address];
  const pay = (to: string, units: bigint) => [
    createAta(payer.address, to, usdt),
    transfer(payerUsdt, ataOf(to, usdt), payer.address, units),
    createAta(payer.address, to, usdc),
    transfer(payerUsdc, ataOf(to, usdc), payer.address, units + 1n),
  ];
  const shown = ran([payer], [...pay(one, 10n), ...pay(two, 20n)]);
  const found = credited([shown], [one, two]);
  assert.equal(
    found.map(({ currency, to, units }) => [currency, to, units]).sort(),
    [
      ['USDT', keyOf(one), 10n],
      ['USDC', keyOf(one), 11n],
      ['USDT', keyOf(two), 20n],
      ['USDC', keyOf(two), 21n],
    ].sort(),
  );
  assert.is(new Set(found.map(({ index }) => index)).size, 4);
  // A transfer keeps its index whichever addresses are watched: a block that is read again gives the same.
  for (const transferred of found) {
    const alone = credited([shown], [solanaAddress.format(transferred.to)]);
    assert.ok(alone.some((other) => other.index === transferred.index && other.units === transferred.units));
  }
});

test('an account at any address, and several accounts of one owner, count together', () => {
  const payee = freshPayee().address;
  const spare = signerOf(`spare ${payee}`);
  const shown = ran(
    [payer, spare],
    [
      createAccount(payer.address, spare.address, bank.rent(ACCOUNT_BYTES), ACCOUNT_BYTES, TOKEN),
      initializeAccount(spare.address, usdt, payee),
      transfer(payerUsdt, spare.address, payer.address, 30n),
      createAta(payer.address, payee, usdt),
      transfer(payerUsdt, ataOf(payee, usdt), payer.address, 12n),
    ],
  );
  assert.equal(credited([shown], [payee]).map(brief), [['USDT', payerKey, keyOf(payee), 42n]]);
});

test('a program that moves tokens itself, and a batch of transfers in one instruction', () => {
  const payee = freshPayee();
  // Somebody sent tokens to an account of the payee's account; the program brings them home.
  const ownAccount = bank.fund(payee.address, usdt, 1n);
  bank.fund(ownAccount, usdt, 77n);
  const inner = ran([payee], [recoverNested(payee.address, usdt)]);
  assert.equal(credited([inner], [payee.address]).map(brief), [['USDT', keyOf(ownAccount), keyOf(payee.address), 77n]]);
  const batched = ran(
    [payer],
    [batch([transfer(payerUsdt, ownAccount, payer.address, 3n), transfer(payerUsdt, ownAccount, payer.address, 4n)])],
  );
  assert.equal(credited([batched], [payee.address]).map(brief), [['USDT', payerKey, keyOf(payee.address), 7n]]);
});

test('handing over a full account is not a payment; what is added to it is', () => {
  const payee = freshPayee().address;
  const trick = (name: string) => {
    const account = signerOf(`trick ${name}`);
    const filled = ran(
      [payer, account],
      [
        createAccount(payer.address, account.address, bank.rent(ACCOUNT_BYTES), ACCOUNT_BYTES, TOKEN),
        initializeAccount(account.address, usdt, payer.address),
        transfer(payerUsdt, account.address, payer.address, 1_000n),
      ],
    );
    assert.equal(credited([filled], [payee]), []);
    return account.address;
  };
  const handedOver = ran([payer], [setOwner(trick('plain'), payer.address, payee)]);
  assert.equal(credited([handedOver], [payee]), []);
  const account = trick('topped up');
  const toppedUp = ran(
    [payer],
    [transfer(payerUsdt, account, payer.address, 50n), setOwner(account, payer.address, payee)],
  );
  assert.equal(credited([toppedUp], [payee]).map(brief), [['USDT', payerKey, keyOf(payee), 50n]]);
  const emptied = trick('emptied');
  const drained = ran(
    [payer],
    [transfer(emptied, payerUsdt, payer.address, 400n), setOwner(emptied, payer.address, payee)],
  );
  assert.equal(credited([drained], [payee]), []);
  // The payee's own account is paid in the very transaction that hands over another: only the payment counts.
  const other = trick('beside a payment');
  const both = ran(
    [payer],
    [
      createAta(payer.address, payee, usdt),
      transfer(payerUsdt, ataOf(payee, usdt), payer.address, 9n),
      setOwner(other, payer.address, payee),
    ],
  );
  assert.equal(credited([both], [payee]).map(brief), [['USDT', payerKey, keyOf(payee), 9n]]);
});

test('moving between one owner’s accounts and closing one is not a payment', () => {
  const payee = freshPayee();
  const account = bank.fund(payee.address, usdt, 500n);
  const spare = signerOf('second pocket');
  const moved = ran(
    [payee, spare],
    [
      createAccount(payee.address, spare.address, bank.rent(ACCOUNT_BYTES), ACCOUNT_BYTES, TOKEN),
      initializeAccount(spare.address, usdt, payee.address),
      transfer(account, spare.address, payee.address, 500n),
      closeAccount(account, payee.address, payee.address),
    ],
  );
  assert.equal(credited([moved], [payee.address]), []);
});

test('Token-2022 and another classic mint are not our tokens, whatever their names', () => {
  const payee = freshPayee().address;
  const modernFrom = bank.fund(payer.address, modern, 1_000n, TOKEN_2022);
  const copyFrom = bank.fund(payer.address, lookalike, 1_000n);
  const shown = ran(
    [payer],
    [
      createAta(payer.address, payee, modern, TOKEN_2022),
      transferChecked(modernFrom, modern, ataOf(payee, modern, TOKEN_2022), payer.address, 5n, 6, TOKEN_2022),
      createAta(payer.address, payee, lookalike),
      transfer(copyFrom, ataOf(payee, lookalike), payer.address, 6n),
    ],
  );
  assert.equal(credited([shown], [payee]), []);
  // Even a configured mint counts under the classic program only.
  const keys = new Set([keyOf(payee)]);
  const asToken: Token[] = [{ symbol: 'USDT', address: modern, decimals: 6 }];
  for (const kind of ['whole', 'slices']) {
    assert.equal(
      solanaWire.decode(contentOf([shown], kind), asToken, (key) => keys.has(key)),
      [],
    );
  }
});

test.run();
