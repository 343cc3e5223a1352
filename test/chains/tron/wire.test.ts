/** java-tron's answers, as its documentation and sources have them, and every way in which they may be wrong. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { TRANSFER_TOPIC } from '../../../src/chains/erc20.ts';
import { tronAddress } from '../../../src/chains/tron/address.ts';
import { readHeader, tronWire } from '../../../src/chains/tron/wire.ts';
import type { BlockRef } from '../../../src/core/block.ts';
import type { ChainTransfer } from '../../../src/core/transfer.ts';
import { column, has } from '../../support/fields.ts';
import { faultIn } from '../../support/refusal.ts';
import { tronContent } from './tron-content.ts';

// biome-ignore lint/suspicious/noExplicitAny: recorded answers are changed at will
type Json = any;

const golden: Json = JSON.parse(readFileSync('test/vectors/tron-block.json', 'utf8'));
const answers: Json = JSON.parse(readFileSync('test/vectors/tron-answers.json', 'utf8'));
const origin = { path: '/wallet/getblock', host: 'test' };
const tokens = [{ symbol: 'USDT', address: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', decimals: 6 }] as const;
const goldenRef = readHeader(golden.block, origin).ref;
const expected: ChainTransfer[] = golden.expected.map((one: Json) => ({ ...one, units: BigInt(one.units) }));
const isPayee = (key: string) => key === golden.payee;
const copy = (): { block: Json; infos: Json } => structuredClone({ block: golden.block, infos: golden.infos });

const text = (value: Json) => (typeof value === 'string' ? value : `${JSON.stringify(value)}\n`);

function decode(block: Json, infos: Json, { ref = goldenRef, kind = 'light' }: Decoding = {}): ChainTransfer[] {
  return tronWire.decode(tronContent(ref, text(block), text(infos), kind), tokens, isPayee);
}
type Decoding = { ref?: BlockRef; kind?: 'light' | 'thorough' };

test('in a whole block, exactly the successful transfers to the watched address are found', () => {
  assert.equal(decode(golden.block, golden.infos), expected);
  assert.equal(decode(golden.block, golden.infos, { kind: 'thorough' }), expected);
});

test('the layout of the text does not matter: spaces, or another order of keys', () => {
  assert.equal(decode(JSON.stringify(golden.block, null, 2), JSON.stringify(golden.infos, null, 2)), expected);
  const reversed = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(reversed);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([name, inner]) => [name, reversed(inner)]),
    );
  };
  assert.equal(decode(reversed(golden.block), reversed(golden.infos)), expected);
});

test('a header is read with or without its omitted fields', () => {
  const header = readHeader(answers.header, origin);
  assert.equal(header, {
    ref: {
      hash: '0000000003fe262d52bfa4b2814f816fd2e57af5b98a33d60d8630a03a908e0e',
      parent: '0000000003fe262c85cd6b02033f4c3e5c1efa35de256a17bd906dc61fb1aeed',
      number: 66_987_565,
      timeS: 1_777_445_121,
    },
    isEmpty: false,
  });
  assert.is(readHeader(answers.emptyBlock, origin).isEmpty, true);
  const { ref } = readHeader(answers.firstBlock, origin);
  has(ref, { number: 0, timeS: 0 });
});

test('an empty block has no transactions key and no infos', () => {
  const { ref } = readHeader(answers.emptyBlock, origin);
  assert.equal(decode(answers.emptyBlock, [], { ref }), []);
});

test('the first block has no transfers', () => {
  const { ref } = readHeader(answers.firstBlock, origin);
  assert.equal(decode(answers.firstBlock, {}, { ref }), []);
});

test('each of the three success fields can deny a transfer by itself', () => {
  const denials: readonly (readonly [string, (block: Json, infos: Json) => void])[] = [
    ['the block’s contractRet', (block) => Object.assign(block.transactions[1].ret[0], { contractRet: 'OUT_OF_TIME' })],
    ['no contractRet', (block) => Object.assign(block.transactions[1], { ret: [{}] })],
    ['no ret', (block) => delete block.transactions[1].ret],
    ['the info’s result', (_, infos) => Object.assign(infos[1], { result: 'FAILED' })],
    ['the receipt’s result', (_, infos) => Object.assign(infos[1].receipt, { result: 'OUT_OF_ENERGY' })],
    ['no receipt result', (_, infos) => delete infos[1].receipt.result],
    ['no receipt', (_, infos) => delete infos[1].receipt],
  ];
  for (const [what, deny] of denials) {
    const { block, infos } = copy();
    deny(block, infos);
    assert.equal(decode(block, infos), expected.slice(1), what);
  }
});

test('indexes do not depend on earlier failures', () => {
  const { block, infos } = copy();
  Object.assign(infos[1], { result: 'FAILED' });
  assert.equal(
    column(decode(block, infos), 'index'),
    expected.slice(1).map(({ index }) => index),
  );
});

test('an address in a topic may have its long form', () => {
  const { block, infos } = copy();
  const [topic, from, to] = infos[1].log[0].topics;
  infos[1].log[0].topics = [topic, from, to.replace(/^0{24}/, `${'0'.repeat(22)}41`)];
  assert.equal(decode(block, infos), expected);
});

const spellings: readonly (readonly [string, (log: Json) => Json])[] = [
  ['an address with 41', (log) => ({ ...log, address: `41${log.address}` })],
  ['an address in capitals', (log) => ({ ...log, address: log.address.toUpperCase() })],
  ['an address with 41, in capitals', (log) => ({ ...log, address: `41${log.address}`.toUpperCase() })],
  // java-tron itself writes this when it is asked with visible = true.
  ['an address in base58', (log) => ({ ...log, address: tronAddress.format(log.address) })],
  ['topics in capitals', (log) => ({ ...log, topics: log.topics.map((topic: string) => topic.toUpperCase()) })],
  ['data in capitals', (log) => ({ ...log, data: log.data.toUpperCase() })],
];
for (const [title, change] of spellings) {
  test(`a Transfer is found if its log has ${title}`, () => {
    const { block, infos } = copy();
    infos[1].log[0] = change(infos[1].log[0]);
    assert.equal(decode(block, infos), expected);
  });
}

test('a log of another contract has no topics, or any number of them', () => {
  const { block, infos } = copy();
  const address = 'ab'.repeat(20);
  for (const log of [{ address }, { address, topics: ['cd'.repeat(32)], data: '00' }]) {
    assert.equal(
      decode(block, infos.with(2, { ...infos[2], log: [...(infos[2].log ?? []), log] })).length,
      expected.length,
    );
  }
});

for (const upper of ['f'.repeat(24), '1'.padStart(24, '0'), '42'.padStart(24, '0')]) {
  test(`a Transfer of our token to ${upper}… and our address pays nobody, and is no fault`, () => {
    const { block, infos } = copy();
    const [topic, from] = infos[1].log[0].topics;
    infos[1].log[0].topics = [topic, from, `${upper}${golden.payee}`];
    assert.equal(decode(block, infos), expected.slice(1));
  });
}

test('the upper bytes of the sender do not matter', () => {
  const { block, infos } = copy();
  const { topics } = infos[1].log[0];
  infos[1].log[0].topics = topics.with(1, `${'f'.repeat(24)}${topics[1].slice(24)}`);
  assert.equal(decode(block, infos), expected);
});

type Change = (block: Json, infos: Json) => readonly [block: Json, infos: Json];
const withSecond = (infos: Json, change: object) => infos.with(1, { ...infos[1], ...change });
const contradictions: Readonly<Record<string, Readonly<Record<string, Change>>>> = {
  node_content_contradictory: {
    'an info too few': (block, infos) => [block, infos.slice(1)],
    'the last info is missing': (block, infos) => [block, infos.slice(0, -1)],
    'an info twice': (block, infos) => [block, [...infos, infos[0]]],
    'infos in another order': (block, infos) => [block, infos.toReversed()],
    'an info of another transaction': (block, infos) => [block, infos.with(0, { ...infos[0], id: 'ab'.repeat(32) })],
    'infos of another block': (block, infos) => [
      block,
      infos.map((info: Json) => ({ ...info, blockNumber: info.blockNumber - 1 })),
    ],
    'a transaction too few': (block, infos) => [{ ...block, transactions: block.transactions.slice(1) }, infos],
    'no transactions, although its header says that there are some': ({ transactions, ...block }, infos) => [
      block,
      infos,
    ],
    'no transactions and no infos, though its header says that there are some': ({ transactions, ...block }) => [
      block,
      [],
    ],
    'transactions, although its header says that there are none': (block, infos) => {
      block.block_header.raw_data.txTrieRoot = '0'.repeat(64);
      return [JSON.stringify(block, null, 1), infos];
    },
  },
  node_block_unknown: {
    'no such block': (_, infos) => [{}, infos],
    'no such block, and no infos': () => [{}, []],
    'no infos of such a number': (block) => [block, {}],
    'another block at that height': (block, infos) => [
      { ...block, blockID: block.blockID.replace(/0e$/, '0f') },
      infos,
    ],
  },
  node_nonsense: {
    'a result in another spelling': (block, infos) => [
      block,
      withSecond(infos, { receipt: { ...infos[1].receipt, result: 'success' } }),
    ],
    "the block's result as a number": (block, infos) => {
      block.transactions[1].ret[0].contractRet = 1;
      return [block, infos];
    },
    'infos that are not a list': (block) => [block, '"many"'],
    'infos that are not objects': (block) => [block, [1, 2]],
    'an info without an id': (block, [{ id, ...first }, ...rest]) => [block, [first, ...rest]],
    'logs that are not a list': (block, infos) => [block, withSecond(infos, { log: {} })],
    'a block that is not an object': (_, infos) => ['[]', infos],
    'a block without a header': ({ block_header, ...block }, infos) => [JSON.stringify(block, null, 1), infos],
    'transactions that are not a list': (block, infos) => [JSON.stringify({ ...block, transactions: {} }), infos],
  },
};
for (const [code, changes] of Object.entries(contradictions)) {
  for (const [title, change] of Object.entries(changes)) {
    test(`${title}: ${code}`, () => {
      const { block, infos } = copy();
      const fault = faultIn(() => decode(...change(block, infos)));
      has(fault, { kind: 'transient', code });
      assert.match(fault.message, /^\S*.*\btest\b/);
    });
  }
}

test('a full block without infos is first doubtful, then node_infos_missing', () => {
  assert.is(faultIn(() => decode(golden.block, [])).code, 'node_content_doubtful');
  const fault = faultIn(() => decode(golden.block, [], { kind: 'thorough' }));
  assert.is(fault.code, 'node_infos_missing');
  assert.match(fault.message, /the block has 10 transactions/);
});

const malformed: readonly (readonly [string, (log: Json) => Json])[] = [
  ['a log that is not an object', () => 'log'],
  ['data of 31 bytes', (log) => ({ ...log, data: log.data.slice(2) })],
  ['no data', ({ data, ...log }) => log],
  ['data that is not hex', (log) => ({ ...log, data: 'z'.repeat(64) })],
  ['a cut recipient', (log) => ({ ...log, topics: [...log.topics.slice(0, 2), 'ab'] })],
  ['a cut event', (log) => ({ ...log, topics: log.topics.with(0, TRANSFER_TOPIC.slice(2)) })],
  ['0x before its topics', (log) => ({ ...log, topics: log.topics.map((topic: string) => `0x${topic}`) })],
  ['no topics', ({ topics, ...log }) => log],
  ['an empty list of topics', (log) => ({ ...log, topics: [] })],
  ['topics that are not a list', (log) => ({ ...log, topics: log.topics.join() })],
  ['no address', ({ address, ...log }) => log],
  ['an address that is none', (log) => ({ ...log, address: `0x${log.address}` })],
];
for (const [title, change] of malformed) {
  test(`a Transfer of our token with ${title} is nonsense`, () => {
    const { block, infos } = copy();
    infos[1].log[0] = change(infos[1].log[0]);
    assert.is(faultIn(() => decode(block, infos)).code, 'node_nonsense');
  });
}

test('text that is not a block is never taken for one, in either place', () => {
  for (const { text, code } of answers.refusals) {
    assert.is(faultIn(() => decode(text, golden.infos)).code, code, `block ${text}`);
    assert.is(faultIn(() => decode(golden.block, text)).code, code, `infos ${text}`);
  }
});

test('a fault’s message is one line, says where, and what to do', () => {
  const { message } = faultIn(() => decode(golden.block, answers.refusals[1].text));
  assert.match(message, /^\/wallet\/gettransactioninfobyblocknum at test answered .*openHistoryQueryWhenLiteFN/);
  const long = faultIn(() => decode(golden.block, `<html>\n${'x'.repeat(5_000)}`)).message;
  assert.ok(long.length < 600 && !long.includes('\n'));
});

test('a truncated answer gives no transfers', () => {
  const [blockText, infosText] = [JSON.stringify(golden.block), JSON.stringify(golden.infos)];
  const cutAt = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(cutAt, fc.boolean(), (share, inBlock) => {
      const cut = (text: string) => text.slice(0, Math.floor(text.length * share));
      const fault = faultIn(() => (inBlock ? decode(cut(blockText), infosText) : decode(blockText, cut(infosText))));
      assert.is(fault.code, 'node_nonsense');
    }),
    { numRuns: 300 },
  );
});

test('headers with a missing or malformed field are nonsense that names the field', () => {
  const raw = answers.header.block_header.raw_data;
  const changes: readonly (readonly [string, Json])[] = [
    ['blockID', { ...answers.header, blockID: '0x12' }],
    ['blockID', { block_header: answers.header.block_header }],
    ['parentHash', { ...answers.header, block_header: { raw_data: { ...raw, parentHash: 7 } } }],
    ['number', { ...answers.header, block_header: { raw_data: { ...raw, number: '66987565' } } }],
    ['number', { ...answers.header, block_header: { raw_data: { ...raw, number: -1 } } }],
    ['timestamp', { ...answers.header, block_header: { raw_data: { ...raw, timestamp: 1.5 } } }],
    ['txTrieRoot', { ...answers.header, block_header: { raw_data: { ...raw, txTrieRoot: null } } }],
  ];
  for (const [field, value] of changes) {
    assert.match(faultIn(() => readHeader(value, origin)).message, `"${field}"`);
  }
  const other = { ...answers.header, block_header: { raw_data: { ...raw, number: raw.number + 1 } } };
  assert.match(faultIn(() => readHeader(other, origin)).message, /starts with another height/);
});

test.run();
