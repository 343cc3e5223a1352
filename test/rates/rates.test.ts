import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openLog } from '../../src/lib/log.ts';
import { binance } from '../../src/rates/binance.ts';
import { coinbase } from '../../src/rates/coinbase.ts';
import { ecb } from '../../src/rates/ecb.ts';
import { kraken } from '../../src/rates/kraken.ts';
import { createRates, type Quote, type Rates } from '../../src/rates/rates.ts';
import type { RateSource } from '../../src/rates/source.ts';
import { staticRates } from '../../src/rates/static.ts';
import { type AnsweringServer, startAnsweringServer } from '../support/answering-server.ts';
import { have } from '../support/fields.ts';
import { until } from '../support/until.ts';
import { binanceBody, coinbaseBody, ecbBody, krakenBody, krakenError, paths } from './rate-answers.ts';

const DAY_MS = 86_400_000;
const friday = Date.UTC(2026, 10, 20, 15);

type Stage = {
  server: AnsweringServer;
  /** The time that rates see; tests set it. */
  nowMs: number;
  lines: { level: number; msg: string; source: string; fault?: string }[];
  open(sources: readonly RateSource[], singleSource?: readonly string[]): Opened;
};

/** `refresh` asks until the signal aborts; without one, until all have answered. */
type Opened = Omit<Rates, 'refresh'> & Readonly<{ refresh(signal?: AbortSignal): Promise<void> }>;

const rates = suite<Stage>('rates');

rates.before.each(async (stage) => {
  stage.server = await startAnsweringServer();
  stage.nowMs = friday;
  stage.lines = [];
  stage.open = (sources, singleSource = ['EUR', 'CHF', 'CAD']) => {
    const opened = createRates({
      singleSource,
      sources,
      clock: { nowMs: () => stage.nowMs },
      log: openLog('test', 'info', (line) => void stage.lines.push(JSON.parse(line))),
    });
    return { ...opened, refresh: (signal = new AbortController().signal) => opened.refresh(signal) };
  };
});

rates.after.each(async (stage) => {
  await stage.server.close();
});

const at = (stage: Stage) => ({ origin: stage.server.origin });

function rateIn(quote: Quote): string {
  assert.is(quote.kind, 'rate', JSON.stringify(quote));
  return quote.kind === 'rate' ? quote.rate : '';
}

function whyNot(quote: Quote): string {
  assert.is(quote.kind, 'unavailable', JSON.stringify(quote));
  return quote.kind === 'unavailable' ? quote.why : '';
}

/** Sets the sources' price of a euro in USDT. */
function say(
  stage: Stage,
  euro: Readonly<{ kraken?: string; binance?: string; coinbase?: string; ecb?: string }>,
): void {
  const { server } = stage;
  if (euro.kraken) server.reply(paths.kraken, { body: krakenBody({ USDTEUR: [euro.kraken, euro.kraken] }) });
  if (euro.binance) server.reply(paths.binance, { body: binanceBody({ EURUSDT: euro.binance }) });
  if (euro.coinbase) {
    server.reply(paths.coinbaseUsdt, { body: coinbaseBody('USDT', { EUR: euro.coinbase }) });
    server.reply(paths.coinbaseUsdc, { body: coinbaseBody('USDC', { EUR: euro.coinbase }) });
  }
  if (euro.ecb) server.reply(paths.ecb, { body: ecbBody('2026-11-20', { USD: euro.ecb, ZAR: '19.9' }) });
}

rates('the quote is the median of three sources', async (stage) => {
  // Kraken and Coinbase quote euros per USDT: 0.8 is 1.25 USDT per euro, 0.78125 is 1.28.
  say(stage, { kraken: '0.8', binance: '1.26', coinbase: '0.78125' });
  const opened = stage.open([kraken(at(stage)), binance(at(stage)), coinbase(at(stage))]);
  await opened.refresh();
  assert.equal(opened.quote('EUR', 'USDT'), {
    kind: 'rate',
    rate: '1.26000',
    sources: ['kraken', 'binance', 'coinbase'],
  });
  assert.equal(opened.quote('EUR', 'USDC'), { kind: 'rate', rate: '1.28000', sources: ['coinbase'] });
});

rates('a dead source does not delay the others, which make the quote', async (stage) => {
  say(stage, { binance: '1.26', coinbase: '0.8' });
  stage.server.reply(paths.kraken, 'hang');
  const opened = stage.open([kraken(at(stage)), binance(at(stage)), coinbase(at(stage))]);
  let over = false;
  const ending = new AbortController();
  const asking = opened.refresh(ending.signal).then(() => {
    over = true;
  });
  await until('the living sources have answered', () => opened.status().filter(({ fresh }) => fresh).length === 2);
  assert.not.ok(over, 'only the refresh still waits for Kraken');
  assert.equal(opened.quote('EUR', 'USDT'), { kind: 'rate', rate: '1.25500', sources: ['binance', 'coinbase'] });
  assert.match(whyNot(opened.quote('CAD', 'USDT')), 'kraken has not answered since the start');
  ending.abort();
  await asking;
  assert.is(opened.status()[0]?.fault, null, 'a stop is no failure of the source');
});

rates('a rate is used up to its largest age, and not a millisecond longer', async (stage) => {
  say(stage, { kraken: '0.8', ecb: '1.26' });
  const opened = stage.open([kraken(at(stage)), { ...ecb(at(stage)), ageSMax: 7200 }]);
  await opened.refresh();
  // The ECB's rates are an hour old: they were published at 14:00.
  assert.is(rateIn(opened.quote('EUR', 'USDT')), '1.25500');
  stage.nowMs = friday + 300_000;
  assert.is(rateIn(opened.quote('EUR', 'USDT')), '1.25500');
  stage.nowMs = friday + 300_001;
  assert.equal(opened.quote('EUR', 'USDT'), { kind: 'rate', rate: '1.26000', sources: ['ecb'] });
  stage.nowMs = friday + 3_600_000;
  assert.is(rateIn(opened.quote('EUR', 'USDT')), '1.26000');
  stage.nowMs = friday + 3_600_001;
  const why = whyNot(opened.quote('EUR', 'USDT'));
  assert.match(why, 'kraken quoted EUR/USDT 3600 s ago, which is more than 300 s');
  assert.match(why, 'ecb quoted EUR/USDT 7200 s ago, which is more than 7200 s');
  have(opened.status(), [
    { source: 'kraken', ageS: 3600, fresh: false },
    { source: 'ecb', ageS: 7200, fresh: false },
  ]);
});

rates('a document that is fetched again stays as old as its publication', async (stage) => {
  say(stage, { ecb: '1.3' });
  const opened = stage.open([ecb(at(stage))]);
  stage.nowMs = friday + 6 * DAY_MS;
  await opened.refresh();
  assert.match(whyNot(opened.quote('EUR', 'USDT')), 'ecb quoted EUR/USDT 522000 s ago');
  assert.is(opened.status()[0]?.fault, null);
  // A clock that is behind the publication makes no rate younger than now.
  stage.nowMs = friday - DAY_MS;
  await opened.refresh();
  assert.is(opened.status()[0]?.ageS, 0);
  stage.nowMs = friday + 4 * DAY_MS + 1;
  assert.is(opened.quote('EUR', 'USDT').kind, 'unavailable');
});

rates('the last good answer stays while a source fails, and the failure is shown', async (stage) => {
  say(stage, { kraken: '0.8' });
  const opened = stage.open([kraken(at(stage))]);
  await opened.refresh();
  for (const reply of [{ status: 500, body: '' }, { body: krakenError('EService:Unavailable') }, { body: '{' }]) {
    stage.server.reply(paths.kraken, reply);
    stage.nowMs += 60_000;
    await opened.refresh();
    assert.is(rateIn(opened.quote('EUR', 'USDT')), '1.25000');
    const [status] = opened.status();
    assert.ok(status?.fault?.includes('kraken'));
    assert.is(status?.ageS, (stage.nowMs - friday) / 1000);
  }
  stage.nowMs = friday + 301_000;
  assert.match(whyNot(opened.quote('EUR', 'USDT')), 'is not JSON');
  say(stage, { kraken: '0.78125' });
  await opened.refresh();
  assert.is(rateIn(opened.quote('EUR', 'USDT')), '1.28000');
  assert.is(opened.status()[0]?.fault, null);
});

rates('a failure is logged once, and so is its end', async (stage) => {
  stage.server.reply(paths.kraken, { body: krakenError('EService:Unavailable') });
  const opened = stage.open([kraken(at(stage))]);
  await opened.refresh();
  await opened.refresh();
  say(stage, { kraken: '0.8' });
  await opened.refresh();
  await opened.refresh();
  have(stage.lines, [
    { level: 40, msg: 'rate source failed', source: 'kraken' },
    { level: 30, msg: 'rate source works again', source: 'kraken' },
  ]);
  assert.match(stage.lines[0]?.fault ?? '', 'EService:Unavailable');
});

rates('before a source has answered, what it may quote is unavailable and the rest unsupported', async (stage) => {
  const { server } = stage;
  say(stage, { coinbase: '0.8' });
  server.reply(paths.kraken, { status: 503, body: '' });
  const opened = stage.open([kraken(at(stage)), coinbase(at(stage)), staticRates({ VED: '0.005' })]);
  const kinds = () => ['EUR', 'CAD', 'MNT', 'KPW'].map((code) => opened.quote(code, 'USDT').kind);
  // No source ever quotes MNT (the code is ambiguous); Coinbase might quote the others.
  assert.equal(kinds(), ['unavailable', 'unavailable', 'unsupported', 'unavailable']);
  await opened.refresh();
  // Coinbase has answered without CAD and KPW; Kraken, which may quote CAD, has not answered.
  assert.equal(kinds(), ['rate', 'unavailable', 'unsupported', 'unsupported']);
  assert.match(whyNot(opened.quote('CAD', 'USDT')), /^kraken has not answered since the start \(kraken .*HTTP 503/);
  say(stage, { kraken: '0.8' });
  await opened.refresh();
  assert.equal(kinds(), ['rate', 'unsupported', 'unsupported', 'unsupported']);
});

rates('a pair that answers omit ages, and then is unavailable', async (stage) => {
  say(stage, { kraken: '0.8' });
  const opened = stage.open([kraken(at(stage))]);
  await opened.refresh();
  stage.server.reply(paths.kraken, { body: krakenBody({ USDTCHF: ['0.8', '0.8'] }) });
  stage.nowMs = friday + 300_000;
  await opened.refresh();
  assert.is(rateIn(opened.quote('EUR', 'USDT')), '1.25000');
  stage.nowMs = friday + 300_001;
  assert.match(whyNot(opened.quote('EUR', 'USDT')), 'kraken quoted EUR/USDT 300 s ago');
  assert.is(rateIn(opened.quote('CHF', 'USDT')), '1.25000');
});

rates('an answer without any rate is a failure, not an empty market', async (stage) => {
  const opened = stage.open([binance(at(stage))]);
  stage.server.reply(paths.binance, { body: binanceBody({}) });
  await opened.refresh();
  assert.match(opened.status()[0]?.fault ?? '', 'binance answered without any rate');
  assert.is(opened.quote('EUR', 'USDT').kind, 'unavailable');
});

rates('sources that differ by more than the spread quote nothing; a third decides', async (stage) => {
  say(stage, { binance: '1.00', ecb: '1.03' });
  const two = stage.open([binance(at(stage)), ecb(at(stage))]);
  await two.refresh();
  assert.is(rateIn(two.quote('EUR', 'USDT')), '1.01500');
  say(stage, { ecb: '1.0301', kraken: '1.0' });
  await two.refresh();
  assert.is(
    whyNot(two.quote('EUR', 'USDT')),
    'the sources of EUR/USDT differ by more than 3 %: binance 1.00000, ecb 1.03010',
  );
  const three = stage.open([binance(at(stage)), ecb(at(stage)), kraken(at(stage))]);
  await three.refresh();
  assert.equal(three.quote('EUR', 'USDT'), { kind: 'rate', rate: '1.00000', sources: ['binance', 'kraken'] });
});

rates('one source alone quotes nothing, unless the currency is named or a person chose the rate', async (stage) => {
  say(stage, { coinbase: '0.8' });
  const sources = [coinbase(at(stage)), staticRates({ JPY: '0.0066' })];
  const opened = stage.open(sources, []);
  await opened.refresh();
  assert.is(
    whyNot(opened.quote('EUR', 'USDT')),
    'only coinbase quotes EUR/USDT now, and a rate needs two sources that agree: add EUR to rates.static, or to ' +
      'rates.single_source if this source is enough for it',
  );
  assert.is(rateIn(opened.quote('JPY', 'USDT')), '0.00660000');
  const named = stage.open(sources, ['EUR']);
  await named.refresh();
  assert.is(rateIn(named.quote('EUR', 'USDT')), '1.25000');
});

rates('a source that jumps is not used until another one agrees', async (stage) => {
  say(stage, { coinbase: '0.8' });
  const opened = stage.open([coinbase(at(stage)), binance(at(stage))]);
  await opened.refresh();
  // 10 % and a little more than the last quote.
  say(stage, { coinbase: '0.7272' });
  await opened.refresh();
  assert.match(
    whyNot(opened.quote('EUR', 'USDT')),
    'coinbase moved EUR/USDT from 1.25000 to 1.37514, by more than 10 %',
  );
  say(stage, { binance: '1.37' });
  await opened.refresh();
  assert.is(rateIn(opened.quote('EUR', 'USDT')), '1.37257');
  // The one that stays is enough for a currency that one source is enough for.
  say(stage, { coinbase: '0.5' });
  await opened.refresh();
  assert.equal(opened.quote('EUR', 'USDT'), { kind: 'rate', rate: '1.37000', sources: ['binance'] });
});

rates(
  'a jump of a lone source is accepted when the last quote is a day old, and small steps at once',
  async (stage) => {
    say(stage, { coinbase: '0.8' });
    const opened = stage.open([coinbase(at(stage))]);
    await opened.refresh();
    for (const price of ['0.75', '0.7', '0.65']) {
      say(stage, { coinbase: price });
      stage.nowMs += 60_000;
      await opened.refresh();
      assert.is(opened.quote('EUR', 'USDT').kind, 'rate', price);
    }
    say(stage, { coinbase: '1.3' });
    stage.nowMs += DAY_MS - 1;
    await opened.refresh();
    assert.is(opened.quote('EUR', 'USDT').kind, 'unavailable');
    stage.nowMs += 1;
    await opened.refresh();
    assert.is(opened.quote('EUR', 'USDT').kind, 'rate');
  },
);

/** Sets what the sources say of the coins: USDT in dollars at Kraken and Coinbase, USDC at Kraken and in USDT. */
function price(stage: Stage, usdt: readonly [string, string], usdc: readonly [string, string]): void {
  const { server } = stage;
  const dollarsFor = (usd: string) => ({ body: coinbaseBody('USDT', { EUR: '0.9', USD: usd }) });
  const body = krakenBody({ USDTZUSD: [usdt[0], usdt[0]], USDCUSD: [usdc[0], usdc[0]] });
  server.reply(paths.kraken, { body });
  server.reply(paths.coinbaseUsdt, dollarsFor(usdt[1]));
  // Coinbase calls USDC a dollar whatever happens.
  server.reply(paths.coinbaseUsdc, { body: coinbaseBody('USDC', { EUR: '0.9', USD: '1.0' }) });
  server.reply(paths.binance, { body: binanceBody({ USDCUSDT: usdc[1] }) });
}

const off = (opened: Rates) => opened.pegs().flatMap(({ currency, isOff }) => (isOff ? [currency] : []));

rates('a coin is off when two sources say so, and on again when it is halfway back', async (stage) => {
  const opened = stage.open([kraken(at(stage)), coinbase(at(stage)), binance(at(stage))]);
  assert.equal(off(opened), [], 'nothing is known yet');
  const steps: readonly [usdt: [string, string], usdc: [string, string], off: string[]][] = [
    [['1.0001', '0.9999'], ['0.9999', '1.0'], []],
    [['0.9', '0.9999'], ['0.9999', '1.0'], []], // Kraken alone
    [['0.9799', '0.9798'], ['1.0', '1.02'], ['USDT']], // USDC for 1.02 USDT is a dollar
    [['0.9850', '0.9850'], ['1.0', '1.0152'], ['USDT']],
    [['0.9905', '0.9905'], ['1.0', '1.0095'], []],
    [['1.0', '1.0'], ['0.88', '0.9'], ['USDC']],
    [
      ['1.03', '1.03'],
      ['0.88', '0.9'],
      ['USDT', 'USDC'],
    ],
  ];
  for (const [usdt, usdc, expected] of steps) {
    price(stage, usdt, usdc);
    await opened.refresh();
    assert.equal(off(opened), expected, `${usdt} ${usdc}`);
  }
  // Nobody answers: what was off stays off.
  stage.nowMs += 600_000;
  assert.equal(
    opened.pegs().map(({ price: usd, isOff }) => [usd, isOff]),
    [
      [null, true],
      [null, true],
    ],
  );
});

rates('a bug in a source is not treated as a failing source', async (stage) => {
  const broken: RateSource = {
    name: 'broken',
    ageSMax: 300,
    currencies: new Set(['EUR']),
    fetch: () => Promise.reject(new TypeError('undefined is not a function')),
  };
  const refused = await stage
    .open([broken])
    .refresh()
    .then(() => null, String);
  assert.is(refused, 'TypeError: undefined is not a function');
});

rates.run();
