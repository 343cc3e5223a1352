import { gzipSync } from 'node:zlib';
import * as assert from 'uvu/assert';
import { Fault } from '../../src/core/fault.ts';
import { compareRates, formatRate, type Rate } from '../../src/core/rate.ts';
import { binance } from '../../src/rates/binance.ts';
import { coinbase } from '../../src/rates/coinbase.ts';
import { exponentOf } from '../../src/rates/currencies.ts';
import { ecb } from '../../src/rates/ecb.ts';
import type { HttpLimits } from '../../src/rates/http.ts';
import { kraken } from '../../src/rates/kraken.ts';
import { type Answer, type Pair, type RateSource, sourceNames } from '../../src/rates/source.ts';
import { openSources } from '../../src/rates/sources.ts';
import { staticRates } from '../../src/rates/static.ts';
import { type AnsweringServer, startAnsweringServer } from '../support/answering-server.ts';
import { column } from '../support/fields.ts';
import { faultOf } from '../support/refusal.ts';
import { testsIn } from '../support/tests-in.ts';
import { binanceBody, coinbaseBody, ecbBody, krakenBody, krakenError, paths } from './rate-answers.ts';

const never = new AbortController().signal;

/** Runs with its own server, which ends with the test. */
async function withServer(run: (server: AnsweringServer) => Promise<void>): Promise<void> {
  const server = await startAnsweringServer();
  try {
    await run(server);
  } finally {
    await server.close();
  }
}
const test = testsIn(withServer);

const refusal = (source: RateSource, signal = never) => faultOf(source.fetch(signal));

function isExactly(answer: Answer, pair: Pair, num: bigint, den: bigint): void {
  const quoted = answer.quotes.get(pair);
  assert.ok(quoted, `${pair} is quoted`);
  assert.is(compareRates(quoted, { num, den }), 0, `${pair}: ${quoted.num}/${quoted.den}`);
}

const shown = (answer: Answer): Record<string, string> =>
  Object.fromEntries([...answer.quotes].map(([pair, rate]: [Pair, Rate]) => [pair, formatRate(rate)]));

// ── Each source in its own format ────────────────────────────────────────────────────────────────────────────────────

test('Kraken: the inverted middle of ask and bid, only for stablecoin markets', async (server) => {
  server.reply(paths.kraken, {
    body: krakenBody({
      USDTEUR: ['0.92610', '0.92590'],
      USDCEUR: ['0.92500', '0.92500'],
      USDTJPY: ['151.60', '151.40'],
    }),
  });
  const answer = await kraken({ origin: server.origin }).fetch(never);
  assert.is(answer.asOfMs, null);
  assert.is(answer.quotes.size, 4);
  isExactly(answer, 'USD/USDT', 100_000n, 100_005n);
  isExactly(answer, 'EUR/USDT', 10_000n, 9260n);
  isExactly(answer, 'EUR/USDC', 1000n, 925n);
  isExactly(answer, 'JPY/USDT', 10n, 1515n);
  assert.equal(server.asked, [paths.kraken]);
});

test('Kraken: an answer that is compressed, as it is asked for', async (server) => {
  server.reply(paths.kraken, (response) => {
    assert.is(response.req.headers['accept-encoding'], 'gzip');
    const body = krakenBody({ USDTEUR: ['0.92610', '0.92590'] });
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(body));
  });
  assert.equal([...(await kraken({ origin: server.origin }).fetch(never)).quotes.keys()], ['EUR/USDT', 'USD/USDT']);
});

test('Kraken: a market with an empty side of the book is not quoted, the others are', async (server) => {
  server.reply(paths.kraken, {
    body: krakenBody({
      USDTEUR: ['0.92610', '0.92590'],
      USDTCHF: ['0.00000', '0.88000'],
      USDTGBP: ['0.79000', '0.00000'],
    }),
  });
  assert.equal([...(await kraken({ origin: server.origin }).fetch(never)).quotes.keys()], ['EUR/USDT', 'USD/USDT']);
});

test('Kraken: an error with status 200 is a fault that quotes it', async (server) => {
  for (const error of ['EGeneral:Too many requests', 'EQuery:Unknown asset pair', 'EService:Unavailable']) {
    server.reply(paths.kraken, { body: krakenError(error) });
    const fault = await refusal(kraken({ origin: server.origin }));
    assert.is(fault.kind, 'transient');
    assert.is(fault.code, 'rate_source_malformed');
    assert.match(fault.message, 'kraken');
    assert.match(fault.message, error);
  }
});

test('Binance: markets in both directions, only of known currencies, only those that trade', async (server) => {
  server.reply(paths.binance, {
    body: binanceBody({
      EURUSDT: '1.08230000',
      EURUSDC: '1.08210000',
      USDTBRL: '5.40000000',
      USDTTRY: '0.00000000',
      USDCUSDT: '1.00010000',
    }),
  });
  const answer = await binance({ origin: server.origin }).fetch(never);
  assert.equal([...answer.quotes.keys()].sort(), ['BRL/USDT', 'EUR/USDC', 'EUR/USDT', 'USDC/USDT']);
  isExactly(answer, 'EUR/USDT', 10_823n, 10_000n);
  isExactly(answer, 'EUR/USDC', 10_821n, 10_000n);
  isExactly(answer, 'BRL/USDT', 10n, 54n);
  assert.not.ok(answer.quotes.has('SCR/USDT'), 'Scroll is not the rupee of the Seychelles');
});

test('Coinbase: one request per stablecoin, every ISO currency, no coins and no ambiguous codes', async (server) => {
  server.reply(paths.coinbaseUsdt, {
    body: coinbaseBody('USDT', {
      EUR: '0.9259',
      JPY: '151.5',
      KWD: '0.3071',
      ERN: '0.62',
      MNT: '0.97',
      ETH: '0.00031',
    }),
  });
  server.reply(paths.coinbaseUsdc, {
    body: coinbaseBody('USDC', { EUR: '0.92600000000000001', VND: '25431.123456' }),
  });
  const answer = await coinbase({ origin: server.origin }).fetch(never);
  assert.equal([...answer.quotes.keys()].sort(), [
    'EUR/USDC',
    'EUR/USDT',
    'JPY/USDT',
    'KWD/USDT',
    'USD/USDT',
    'VND/USDC',
  ]);
  isExactly(answer, 'EUR/USDT', 10_000n, 9259n);
  isExactly(answer, 'EUR/USDC', 10n ** 17n, 92_600_000_000_000_001n);
  isExactly(answer, 'KWD/USDT', 10_000n, 3071n);
  isExactly(answer, 'VND/USDC', 1_000_000n, 25_431_123_456n);
});

test('Coinbase: half an answer is refused', async (server) => {
  server.reply(paths.coinbaseUsdt, { body: coinbaseBody('USDT', { EUR: '0.9259' }) });
  server.reply(paths.coinbaseUsdc, {
    status: 429,
    body: '{"errors":[{"id":"rate_limit_exceeded","message":"Too many requests"}]}',
  });
  const fault = await refusal(coinbase({ origin: server.origin }));
  assert.is(fault.code, 'rate_source_refused');
  assert.match(fault.message, 'coinbase');
  assert.match(fault.message, 'HTTP 429');
  assert.match(fault.message, 'remove coinbase from rates.sources');
});

test('Coinbase: rates for a currency that was not asked for are refused', async (server) => {
  server.reply(paths.coinbaseUsdt, { body: coinbaseBody('USD', { EUR: '0.9259' }) });
  assert.match((await refusal(coinbase({ origin: server.origin }))).message, 'data.currency');
});

test('ECB: exact cross rates through the dollar, both stablecoins at par, dated by the publication', async (server) => {
  server.reply(paths.ecb, {
    body: ecbBody('2026-11-20', { USD: '1.0865', JPY: '164.62', CHF: '0.9401', RUB: '92.1' }),
  });
  const answer = await ecb({ origin: server.origin }).fetch(never);
  assert.is(answer.asOfMs, Date.UTC(2026, 10, 20, 14));
  isExactly(answer, 'EUR/USDT', 10_865n, 10_000n);
  isExactly(answer, 'JPY/USDT', 10_865n, 1_646_200n);
  isExactly(answer, 'CHF/USDC', 10_865n, 9401n);
  assert.equal(shown(answer), {
    'EUR/USDT': '1.08650',
    'EUR/USDC': '1.08650',
    'JPY/USDT': '0.00660005',
    'JPY/USDC': '0.00660005',
    'CHF/USDT': '1.15573',
    'CHF/USDC': '1.15573',
  });
});

test('ECB: a document that is truncated, undated, doubled or without the dollar is refused with the reason', async (server) => {
  const whole = ecbBody('2026-11-20', { USD: '1.0865', JPY: '164.62' });
  const table: readonly [body: string, says: string][] = [
    [whole.slice(0, whole.indexOf('JPY')), 'the document'],
    [whole.replace("time='2026-11-20'", ''), 'the time'],
    [whole.replace('2026-11-20', '2026-13-20'), 'the time'],
    [whole.replace("<Cube time='2026-11-20'>", "<Cube time='2026-11-20'><Cube time='2026-11-19'>"), 'the time'],
    [whole.replace("'USD'", "'XUS'"), 'the USD rate'],
    [whole.replace("'JPY'", "'USD'"), 'the USD rate is given twice'],
    [whole.replace("rate='164.62'", ''), 'the JPY rate'],
  ];
  for (const [body, says] of table) {
    server.reply(paths.ecb, { body });
    const fault = await refusal(ecb({ origin: server.origin }));
    assert.is(fault.code, 'rate_source_malformed', says);
    assert.match(fault.message, 'ecb');
    assert.match(fault.message, says);
  }
});

test('static: the operator’s own rates, the same for both stablecoins', async () => {
  const source = staticRates({ EUR: '1.08', KWD: '3.25' });
  assert.equal([...source.currencies], ['EUR', 'KWD']);
  assert.equal(shown(await source.fetch(never)), {
    'EUR/USDT': '1.08000',
    'EUR/USDC': '1.08000',
    'KWD/USDT': '3.25000',
    'KWD/USDC': '3.25000',
  });
  for (const [code, text] of [
    ['EUR', '0'],
    ['EUR', '1,08'],
    ['EUR', '-1'],
    ['EUR', '1e3'],
    ['eur', '1.08'],
    ['XAU', '2500'],
  ]) {
    assert.throws(
      () => staticRates({ [code ?? '']: text ?? '' }),
      (error: Error) =>
        error instanceof Fault && error.kind === 'permanent' && error.message.includes(`rates.static.${code}`),
    );
  }
});

test('configured names open the sources, in their order', () => {
  const opened = openSources({ sources: sourceNames, static: { EUR: '1.08' } });
  assert.equal(column(opened, 'name'), [...sourceNames]);
  for (const { name, currencies } of opened) {
    for (const code of currencies) assert.ok(exponentOf(code) !== null && code !== 'USD', `${name} ${code}`);
  }
});

// ── What every source that asks over HTTP must survive: one asks for all of them ─────────────────────────────────────

const good = krakenBody({ USDTEUR: ['0.92610', '0.92590'] });
const path = paths.kraken;

test('refusals by status', async (server) => {
  const refusals: readonly [status: number, body: string, advice: string][] = [
    [429, '{"code":-1003,"msg":"Too many requests"}', 'rates.sources'],
    [418, '{"code":-1003,"msg":"Way too many requests"}', 'rates.sources'],
    [451, '{"code":0,"msg":"Service unavailable from a restricted location"}', 'remove kraken from rates.sources'],
    [403, '<html>Forbidden</html>', 'remove kraken from rates.sources'],
    [500, '', 'next refresh'],
    [503, 'x'.repeat(100_000), 'next refresh'],
  ];
  for (const [status, body, advice] of refusals) {
    server.reply(path, { status, body });
    const fault = await refusal(kraken({ origin: server.origin }));
    assert.is(fault.kind, 'transient');
    assert.is(fault.code, 'rate_source_refused');
    for (const part of ['kraken', server.origin, `HTTP ${status}`, advice]) assert.match(fault.message, part);
    assert.ok(fault.message.length < 600, 'a foreign body is not repeated whole');
  }
});

test('a server that hangs, closes the connection, is not there, or is left', async (server) => {
  const half = good.slice(0, good.length / 2);
  server.reply(path, 'hang');
  const hung = await refusal(kraken({ origin: server.origin, timeoutMs: 150 }));
  const stop = new AbortController();
  const stopped = refusal(kraken({ origin: server.origin }), stop.signal);
  stop.abort();
  assert.is((await stopped).kind, 'transient');
  server.reply(path, (response) => void response.writeHead(200, { 'content-length': good.length }).write(half));
  const stuck = await refusal(kraken({ origin: server.origin, timeoutMs: 150 }));
  for (const { message } of [hung, stuck]) assert.match(message, 'no whole answer within 150 ms');
  server.reply(path, (response) => {
    response.writeHead(200, { 'content-length': good.length }).write(half, () => response.destroy());
  });
  const broken = await refusal(kraken({ origin: server.origin }));
  const gone = await startAnsweringServer();
  await gone.close();
  const absent = await refusal(kraken({ origin: gone.origin }));
  assert.match(absent.message, 'ECONNREFUSED');
  for (const fault of [hung, stuck, broken, absent]) {
    assert.is(fault.kind, 'transient');
    assert.is(fault.code, 'rate_source_unreachable');
    assert.match(fault.message, 'kraken');
  }
});

test('an endless body, and one that is endless once it is decompressed', async (server) => {
  let closed = false;
  server.reply(path, (response) => {
    response.writeHead(200);
    const pour = () => {
      while (!closed && response.write(' '.repeat(65_536)));
    };
    response.on('drain', pour).on('close', () => {
      closed = true;
    });
    pour();
  });
  const endless = await refusal(kraken({ origin: server.origin }));
  assert.is(endless.code, 'rate_source_malformed');
  assert.match(endless.message, /the body is longer than \d+ bytes/);
  server.reply(path, (response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(16 << 20, ' ')));
  });
  assert.match((await refusal(kraken({ origin: server.origin }))).message, /the body is longer than \d+ bytes/);
  server.reply(path, (response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end('not compressed');
  });
  assert.match((await refusal(kraken({ origin: server.origin }))).message, 'incorrect header check');
});

test('a redirect, which is not followed', async (server) => {
  server.reply('/elsewhere', { body: good });
  server.reply(path, (response) => void response.writeHead(302, { location: '/elsewhere' }).end());
  const { code, message } = await refusal(kraken({ origin: server.origin }));
  assert.is(code, 'rate_source_refused');
  assert.match(message, 'answered HTTP 302');
  assert.equal(server.asked, [path]);
});

// ── Nonsense in each format ──────────────────────────────────────────────────────────────────────────────────────────

type Asked = Readonly<{
  open(limits: Partial<HttpLimits>): RateSource;
  path: string;
  /** A good answer whose rate of EUR is this JSON value. */
  body(eur: unknown): string;
}>;

/** Puts a JSON value where a valid body has the text "EURO". */
const put = (body: string, value: unknown): string => body.replaceAll('"EURO"', JSON.stringify(value));

const asked: Readonly<Record<string, Asked>> = {
  kraken: {
    open: kraken,
    path: paths.kraken,
    body: (eur) => put(krakenBody({ USDTEUR: ['EURO', '0.92590'] }), eur),
  },
  binance: { open: binance, path: paths.binance, body: (eur) => put(binanceBody({ EURUSDT: 'EURO' }), eur) },
  coinbase: {
    open: coinbase,
    path: paths.coinbaseUsdt,
    body: (eur) => put(coinbaseBody('USDT', { EUR: 'EURO' }), eur),
  },
  ecb: { open: ecb, path: paths.ecb, body: (eur) => ecbBody('2026-11-20', { USD: String(eur) }) },
};

const documents = ['', 'null', '[]]', '"text"', '{"data":[]}', '<html></html>', '{"error":"no","result":7}', '\u0000'];
const prices = ['', 'abc', '-0.9', '1e-3', '0x1', 'NaN', '0,92', '0'.repeat(80), '0.0000000000001', '9'.repeat(30)];
/** JSON numbers have been a float somewhere. */
const values = [0.9261, 1, null, true, ['0.9261'], { value: '0.9261' }];

for (const [name, { open, path, body }] of Object.entries(asked)) {
  test(`${name}: nonsense instead of the document or of a price is a fault that names the field`, async (server) => {
    const expects = async (text: string, named: string) => {
      server.reply(path, { body: text });
      const fault = await refusal(open({ origin: server.origin }));
      assert.is(fault.code, 'rate_source_malformed', text);
      for (const part of [name, named]) assert.match(fault.message, part);
    };
    for (const text of documents) await expects(text, name);
    for (const price of name === 'ecb' ? prices : [...prices, ...values])
      await expects(body(price), name === 'ecb' ? 'USD' : 'EUR');
  });
}

test.run();
