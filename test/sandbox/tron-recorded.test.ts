/**
 * The simulated java-tron compared with the recorded answers of a real one: for the same event, the same fields with
 * the same kinds of values, and the same texts. Fields that only one of them has are listed with the reason.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { tronSpending } from '../../src/chains/tron/spend.ts';
import { signedTransaction, transactionDigest, wireSignature } from '../../src/chains/tron/transaction-bytes.ts';
import { tronMethods } from '../../src/sandbox/tron-methods.ts';
import { gasOf } from '../chains/payout-bench.ts';
import { createSeedWallets } from '../chains/seed-wallets.ts';
import { makeTronPayouts } from '../chains/simulated-payouts.ts';
import { type Json, readRecordings, theRecording } from '../support/recordings.ts';
import { accountKey, TRON_CHAIN_ID, tronTokenKeys } from '../support/simulated-node.ts';

const test = suite('the simulated java-tron and its recorded answers');

const TRX = 1_000_000n;
const recordings = readRecordings('tron/java-tron-4.8.0');
const readRecording = (name: string) => theRecording(recordings, name);
const bench = await makeTronPayouts('recorded');
const { sandbox, world, prepare, send, signOn, mine, openWallets, openFundedWallets } = bench;
const [usdt, usdc] = tronTokenKeys;
const compared = new Set<string>();
test.after.each(() => sandbox.faults.heal());
test.after(() => bench.close());

/** Fields whose values are texts that clients read, or that name a kind of thing. */
const exact =
  /\.(Error|code|message|resMessage|contractRet|ret|result|type|type_url|permission_name|operations|resource|note|threshold|weight)$/;
/** Fields of bytes of any length. */
const anyLength =
  /\.(data|raw_data_hex|value|(constant_result|contractResult)\[\])$|^\.block_header\.raw_data\.witness_address first$/;

/** Returns a text without what differs from one transaction to another. */
const plain = (text: string): string =>
  text.replace(/\b([0-9a-f]{64,}|T[1-9A-HJ-NP-Za-km-z]{33})\b/g, '…').replace(/\d+/g, '0');
const fromHex = (text: string): string => (/^([0-9a-f]{2})+$/.test(text) ? Buffer.from(text, 'hex').toString() : text);

function kindOf(path: string, value: Json): string {
  if (exact.test(path)) return JSON.stringify(typeof value === 'string' ? plain(fromHex(value)) : value);
  if (typeof value !== 'string') return typeof value;
  if (!/^([0-9a-f]{2})*$/.test(value)) return 'text';
  return anyLength.test(path) ? 'hex' : `hex of ${value.length}`;
}

/** Returns fields and kinds of value, at any depth; a list’s items are taken together. */
function shape(value: Json, path = '', into = new Map<string, string>()): Map<string, string> {
  if (typeof value !== 'object' || value === null) {
    return into.set(
      path,
      [into.get(path), kindOf(path, value)].filter((one, at, all) => one && all.indexOf(one) === at).join(' or '),
    );
  }
  into.set(path, Array.isArray(value) ? 'list' : 'object');
  for (const [name, inner] of Object.entries(value)) {
    shape(inner, Array.isArray(value) ? `${path}[]` : `${path}.${name}`, into);
  }
  return into;
}

/** Compares both ways; `but` are fields that one of them may lack, or have with other values. */
function agree(name: string, ours: Json, but: RegExp = /^$/, theirs: Json = readRecording(name).response): void {
  const [there, here] = [shape(theirs), shape(ours)];
  const found = [...new Set([...there.keys(), ...here.keys()])]
    .filter((path) => !but.test(path) && there.get(path) !== here.get(path))
    .map((path) => `${path}: ${here.get(path) ?? 'absent'}, and ${there.get(path) ?? 'absent'} in the recording`);
  assert.equal(found, [], name);
}

const ask = async (path: string, body: object = {}): Promise<Json> => {
  compared.add(path.split('/').at(-1) ?? '');
  return JSON.parse(await sandbox.post(path, body));
};
/** Asks where the recorded question was asked, and compares the answer. */
const agrees = async (name: string, body: object = {}, but?: RegExp): Promise<void> =>
  agree(name, await ask(readRecording(name).path, body), but);
const wire = (key: string): string => `41${key}`;
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const payee = accountKey('recorded payee');
const transactionOf = (value: string) => ask('/wallet/gettransactionbyid', { value });
const infoOf = (value: string) => ask('/wallet/gettransactioninfobyid', { value });

test('blocks: with transactions and without, and what is none', async () => {
  for (const [token, kind] of [
    [usdt, 'direct'],
    [usdc, 'direct'],
    [usdt, 'contract'],
    [usdt, 'failed'],
  ] as const) {
    sandbox.pay(payee, 5n, kind, token);
  }
  mine();
  const number = world.tip().number;
  const id_or_num = String(number);
  await agrees('getblock.many.detail-false', { id_or_num, detail: false });
  // Made-up payments have no memos; of the recorded block's other kinds of contracts the sandbox has none.
  const but = /contractRet$|raw_data\.(data|contract)|value\.(amount|asset_name|to_address)/;
  await agrees('getblock.many.detail-true', { id_or_num, detail: true }, but);
  await agrees('getblock.by-hash', { id_or_num: world.tip().hash });
  mine();
  const empty = { id_or_num: String(number + 1), detail: true };
  await agrees('getblock.empty-block.detail-true', empty);
  await agrees('getblock.head.detail-absent');
  await agrees('getblock.missing-number', { id_or_num: '99999999' });
  await agrees('getblock.missing-hash', { id_or_num: `${'0'.repeat(15)}1${'ab'.repeat(24)}` });
});

test('infos: of payments that succeeded, and of those that failed in each way', async () => {
  const id = sandbox.pay(payee, 5n);
  const other = sandbox.pay(payee, 5n, 'direct', usdc);
  const batch = sandbox.pay(payee, 5n, 'contract');
  mine();
  const penalty = /energy_penalty_total$/;
  agree('gettransactionbyid.exact', await transactionOf(id));
  agree('gettransactioninfobyid.energy-penalty', await infoOf(id));
  agree('gettransactioninfobyid.dai', await infoOf(other));
  agree('gettransactioninfobyid.batch', await infoOf(batch), /contractResult\[\]$/);
  agree('gettransactionbyid.batch', await transactionOf(batch));
  agree(
    'gettransactioninfobyblocknum.many',
    (await ask('/wallet/gettransactioninfobyblocknum', { num: world.tip().number })).slice(0, 1),
    penalty,
    readRecording('gettransactioninfobyblocknum.many').response.slice(0, 1),
  );
  const names: Readonly<Record<string, string>> = {
    REVERT: 'outer',
    OUT_OF_ENERGY: 'oog',
    OUT_OF_TIME: 'endless-loop',
    ILLEGAL_OPERATION: 'invalid-opcode',
  };
  const seen = new Set<string>();
  for (let tries = 1; seen.size < 4; tries++) {
    assert.ok(tries < 100, 'each kind occurs');
    const failed = sandbox.pay(payee, BigInt(tries), 'failed');
    mine();
    const transaction = await transactionOf(failed);
    const result = transaction.ret[0].contractRet;
    seen.add(result);
    agree(`gettransactionbyid.${names[result]}`, transaction);
    // The recorded revert was that of a contract that called the token.
    const inner = result === 'REVERT' ? /internal_transactions/ : /^$/;
    agree(`gettransactioninfobyid.${names[result]}`, await infoOf(failed), inner);
  }
  for (const num of [0, -5]) {
    await agrees('gettransactioninfobyblocknum.zero', { num });
  }
  await agrees('gettransactioninfobyblocknum.missing', { num: 99_999_999 });
  agree('gettransactioninfobyid.missing', await infoOf('ab'.repeat(32)));
  agree('gettransactionbyid.missing', await transactionOf('ab'.repeat(32)));
});

test('what wallets sign: transfers, loans, and their infos', async () => {
  const wallets = await openFundedWallets();
  const [owner, borrower] = [wallets.keyOf({ role: 'gas' }), wallets.keyOf({ role: 'collection', index: 0 })];
  world.fund(owner, 100n * TRX);
  world.fund(owner, 20_000n * TRX, true);
  mine();
  const sent = async (intent: Parameters<typeof prepare>[1]): Promise<[Json, Json]> => {
    const attempt = await prepare(wallets, intent);
    await send(attempt);
    mine();
    return [await transactionOf(attempt.tx), await infoOf(attempt.tx)];
  };
  const [transfer, transferInfo] = await sent(gasOf('transfer', 0, 3n * TRX));
  agree('gettransactionbyid.trx', transfer);
  agree('gettransactioninfobyid.trx', transferInfo);
  const [loan, loanInfo] = await sent(gasOf('delegate', 0, 5_000n * TRX));
  agree('gettransactionbyid.delegate', loan);
  // Free bytes are used where the recorded account had none left.
  const bytes = /^\.fee$|receipt\.net_(fee|usage)$/;
  agree('gettransactioninfobyid.delegate', loanInfo, bytes);
  await agrees('getdelegatedresourcev2.one', { fromAddress: wire(owner), toAddress: wire(borrower) });
  await agrees('getdelegatedresourcev2.none', { fromAddress: wire(borrower), toAddress: wire(owner) });
  await agrees('getcandelegatedmaxsize.after-a-loan', { owner_address: wire(owner), type: 1 });
  await agrees('getcandelegatedmaxsize', { owner_address: wire(payee), type: 1 });
  await agrees('getaccount.borrower', { address: wire(borrower) });
  const weights = /TotalNetWeight$|TotalEnergyWeight$/;
  await agrees('getaccountresource.borrower', { address: wire(borrower) }, weights);
  const [, refundInfo] = await sent(wallets.refund('USDT', 1n));
  agree('gettransactioninfobyid.exact', refundInfo, /net_(fee|usage)$|energy_penalty_total$/);
  const [, reclaimInfo] = await sent(gasOf('reclaim', 0, 5_000n * TRX));
  agree('gettransactioninfobyid.undelegate', reclaimInfo, bytes);
});

test('accounts: of a person, a contract, and none', async () => {
  const account = (key: string) => ask('/wallet/getaccount', { address: wire(key) });
  const resource = (key: string) => ask('/wallet/getaccountresource', { address: wire(key) });
  const known = accountKey('recorded account');
  world.fund(known, 5n * TRX);
  mine();
  // What only some accounts have: a name, a TRC-10 token of their own, something that they did.
  const own = /account_name|asset|latest_opration_time|free_net_usage|freeNetUsed/;
  agree('getaccount.existing', await account(known), own);
  agree('getaccount.contract', await account(usdt), own);
  agree('getaccount.new', await account(accountKey('nobody')));
  const weights = /TotalNetWeight$|TotalEnergyWeight$|asset|freeNetUsed/;
  agree('getaccountresource.existing', await resource(known), weights);
  agree('getaccountresource.contract', await resource(usdt), weights);
  agree('getaccountresource.new', await resource(accountKey('nobody')));
  world.fund(known, 98_749_999_994_900_000n);
  mine();
  assert.match(await sandbox.post('/wallet/getaccount', { address: wire(known) }), '"balance":98749999999900000,');
  const rows = (await ask('/wallet/getchainparameters')).chainParameter;
  const recorded = readRecording('getchainparameters').response.chainParameter.map(({ key }: Json) => key);
  for (const row of rows) {
    assert.equal(Object.keys(row), ['key', 'value']);
    assert.ok(recorded.includes(row.key), row.key);
  }
});

test('what is in no block yet shows in accounts, in calls and by its id, and the solidified chain lacks it', async () => {
  const [holder, wallet] = [accountKey('out of the pool'), accountKey('coins out of the pool')];
  mine(4);
  const id = sandbox.pay(holder, 7_000_000n);
  world.fund(wallet, 3n * TRX);
  agree('gettransactionbyid.pending', await transactionOf(id));
  agree('gettransactioninfobyid.pending', await infoOf(id));
  await agrees('getaccount.out-of-the-pool', { address: wire(wallet) });
  const balance = await ask('/wallet/triggerconstantcontract', {
    owner_address: wire(holder),
    contract_address: wire(usdt),
    data: `70a08231${holder.padStart(64, '0')}`,
  });
  agree('triggerconstantcontract.balance-out-of-the-pool', balance);
  assert.is(BigInt(`0x${balance.constant_result[0]}`), 7_000_000n);
  await agrees('solidity.gettransactionbyid.not-solid-yet', { value: id });
  mine();
  await agrees('solidity.gettransactionbyid.not-solid-yet', { value: id });
  await agrees('solidity.gettransactioninfobyid.not-solid-yet', { value: id });
  const num = world.tip().number;
  await agrees('solidity.gettransactioninfobyblocknum.above-solid', { num });
  await agrees('solidity.getblock.above-solid', { id_or_num: String(num) });
  await agrees('solidity.getblock.head');
  bench.mineFinal();
  await agrees('solidity.gettransactionbyid.exact', { value: id });
  const penalty = /energy_penalty_total$/;
  await agrees('solidity.gettransactioninfobyid.exact', { value: id }, penalty);
});

test('constant calls: values, reverts with and without a reason, and what cannot be called', async () => {
  const owner = accountKey('recorded caller');
  sandbox.pay(owner, 100n);
  sandbox.pay(owner, 100n, 'direct', usdc);
  mine();
  const call = (contract: string, fields: object) =>
    ask('/wallet/triggerconstantcontract', { owner_address: wire(owner), contract_address: wire(contract), ...fields });
  const transfer = (units: bigint) => ({
    data: `a9059cbb${payee.padStart(64, '0')}${units.toString(16).padStart(64, '0')}`,
  });
  const decimals = { function_selector: 'decimals()' };
  agree('triggerconstantcontract.decimals', await call(usdt, decimals));
  agree('triggerconstantcontract.transfer', await call(usdc, transfer(5n)));
  agree('triggerconstantcontract.energy-penalty', await call(usdt, transfer(5n)));
  agree('triggerconstantcontract.revert-with-reason', await call(usdt, transfer(5_000n)));
  agree('triggerconstantcontract.no-such-function', await call(usdt, { data: `fe575a87${owner.padStart(64, '0')}` }));
  agree('triggerconstantcontract.no-selector', await call(usdt, {}));
  agree('triggerconstantcontract.no-contract', await call(accountKey('nobody'), decimals));
  agree('triggerconstantcontract.no-owner', await call(usdt, { ...decimals, owner_address: undefined }));
  sandbox.faults.set({ rates: { call_failed: 1 } });
  agree('triggerconstantcontract.endless-loop', await call(usdt, decimals));
  sandbox.faults.set({ rates: { call_failed: 0, wrong_chain: 1 } });
  agree('triggerconstantcontract.no-contract', await call(usdt, decimals));
});

const broadcast = (transaction: string) => ask('/wallet/broadcasthex', { transaction });
/** The recorded answers repeat the transaction, which nobody reads. */
const repeated = /^\.transaction$/;

test('broadcasts that are taken or known', async () => {
  const wallets = await openFundedWallets();
  const attempt = await prepare(wallets, wallets.refund('USDT', 1n));
  const bytes = hex(attempt.bytes);
  agree('broadcasthex.accepted-trigger', await broadcast(bytes), repeated);
  agree('broadcasthex.again-while-pending', await broadcast(bytes), repeated);
  mine();
  agree('broadcasthex.again-when-mined', await broadcast(bytes), repeated);
  sandbox.faults.set({ rates: { send_busy: 1 } });
  const troubles = new Map<string, Json>();
  const { terms } = attempt;
  for (let units = 20n; troubles.size < 3; units++) {
    assert.ok(units < 100n, 'each kind occurs');
    const answer = await broadcast(hex(signOn(wallets, wallets.refund('USDT', units), terms).bytes));
    troubles.set(answer.code, answer);
  }
  agree('broadcasthex.server-busy', troubles.get('SERVER_BUSY'), repeated);
  agree('broadcasthex.no-connection', troubles.get('NO_CONNECTION'), repeated);
  agree('broadcasthex.block-unsolidified', troubles.get('BLOCK_UNSOLIDIFIED'), repeated);
});

test('broadcasts that are refused, in java-tron’s words', async () => {
  const wallets = await openFundedWallets();
  const gasKey = wallets.keyOf({ role: 'gas' });
  world.fund(gasKey, 5n * TRX);
  mine();
  const { terms } = await prepare(wallets, gasOf('transfer', 0, 1n));
  const signed = (units: bigint, other: object = {}) =>
    hex(signOn(wallets, gasOf('transfer', 0, units), { ...terms, ...other }).bytes);
  const good = signed(7n);
  const raw = good.slice(0, -134);
  const stranger = openWallets();
  const headMs = world.tip().timeS * 1000;
  const later = { timestamp_ms: String(headMs + 3 * 3_600_000), expiration_ms: String(headMs + 25 * 3_600_000) };
  const secret = tronSpending.derive(wallets.seed, { role: 'gas' }).secret;
  /** Replaces an address in the bytes and signs them again, as somebody else's wallet may. */
  const altered = (from: string, to: string): string => {
    const changed = Buffer.from(raw.replace(from, to).slice(6), 'hex');
    const signature = secp256k1.sign(transactionDigest(changed), secret, { format: 'recovered', prehash: false });
    return hex(signedTransaction(changed, wireSignature(signature)));
  };
  const receiver = wallets.keyOf({ role: 'collection', index: 0 });
  const cases: readonly (readonly [name: string, bytes: string])[] = [
    ['accepted', good],
    ['signature-of-somebody-else', `${raw}${signed(8n).slice(-134)}`],
    ['wrong-reference', signed(9n, { ref_block_hash: 'f'.repeat(16) })],
    ['expired', signed(10n, { timestamp_ms: String(headMs - 60_000), expiration_ms: String(headMs - 1) })],
    ['expires-in-25-hours', signed(11n, later)],
    ['more-trx-than-there-is', signed(1_000n * TRX)],
    ['trx-of-an-unknown-account', hex(signOn(stranger, gasOf('transfer', 0, 7n), terms).bytes)],
    [
      'trigger-of-an-unknown-account',
      hex(signOn(stranger, stranger.refund('USDT', 1n), { ...terms, fee_limit: '1000000' }).bytes),
    ],
    ['trx-to-itself', altered(receiver, gasKey)],
    ['trx-to-a-contract', altered(receiver, usdt)],
  ];
  for (const [name, transaction] of cases) {
    agree(`broadcasthex.${name}`, await broadcast(transaction), repeated);
  }
  const elsewhere = {
    ...bench.network,
    tokens: [{ symbol: 'USDT' as const, address: 'TJRabPrwbZy45sbavfcjinPJC18kjpRTv8', decimals: 6 }],
  };
  const { signOn: signElsewhere } = createSeedWallets(elsewhere, tronSpending);
  const noContract = signElsewhere(wallets, wallets.refund('USDT', 1n), { ...terms, fee_limit: '1000000' });
  agree('broadcasthex.trigger-of-no-contract', await broadcast(hex(noContract.bytes)), repeated);
});

test('errors: ids of no block, and what is switched off', async () => {
  for (const [name, path, body] of [
    ['getblock.not-a-hash', '/wallet/getblock', { id_or_num: 'zz' }],
    ['getblock.hash-of-a-height-above-head', '/wallet/getblock', { id_or_num: `00000000ffffffff${'ab'.repeat(24)}` }],
    ['odd.disabled-path', '/wallet/getaccount', { address: wire(payee) }],
  ] as const) {
    if (name === 'odd.disabled-path') sandbox.faults.set({ rates: { method_off: 1 } });
    assert.equal(JSON.parse(await sandbox.post(path, body)), readRecording(name).response, name);
  }
});

test('every method that the sandbox answers was compared', () => {
  const methods = tronMethods({ world, chainId: TRON_CHAIN_ID, tokens: [] });
  assert.equal(
    [...methods.keys()].filter((name) => !compared.has(name)),
    [],
  );
});

test.run();
