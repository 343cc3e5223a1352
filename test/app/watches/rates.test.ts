/** The sources of rates as real servers, and what becomes of them. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { watchRates } from '../../../src/app/watches/rates.ts';
import { openLog } from '../../../src/lib/log.ts';
import { coinbase } from '../../../src/rates/coinbase.ts';
import { kraken } from '../../../src/rates/kraken.ts';
import { createRates, type Rates } from '../../../src/rates/rates.ts';
import { staticRates } from '../../../src/rates/static.ts';
import { coinbaseBody, krakenBody, paths } from '../../rates/rate-answers.ts';
import { type AnsweringServer, startAnsweringServer } from '../../support/answering-server.ts';
import { type HandClock, handClock } from '../../support/hand-clock.ts';
import { plainRateRules } from '../../support/plain-policies.ts';
import { openTempDatabase, type TempDatabase } from '../../support/temp-database.ts';
import { CALM_MS, PATIENCE_MS, type Watched, watched } from '../../support/watched.ts';

type Stage = { server: AnsweringServer; temp: TempDatabase; clock: HandClock; rates: Rates; bench: Watched };
const watching = suite<Stage>('watching rates');

watching.before.each(async (stage) => {
  stage.server = await startAnsweringServer();
  stage.temp = openTempDatabase();
  stage.clock = handClock();
  const at = { origin: stage.server.origin };
  stage.rates = createRates({
    ...plainRateRules,
    sources: [kraken(at), coinbase(at)],
    refresh: '0 0 1 1 *',
    ageSMax: { kraken: 86_400 * 400, coinbase: 86_400 * 400 },
    clock: stage.clock,
    log: openLog('test', 'silent'),
  });
  stage.bench = watched(watchRates(stage.rates), stage.temp.database, stage.clock);
});

watching.after.each(async ({ server, temp, rates }) => {
  await rates.stop();
  await server.close();
  temp.close();
});

function answer({ server }: Stage, usdt: string): void {
  server.reply(paths.kraken, { body: krakenBody({ USDTZUSD: [usdt, usdt], USDTEUR: ['0.9', '0.9'] }) });
  server.reply(paths.coinbaseUsdt, { body: coinbaseBody('USDT', { EUR: '0.9', USD: usdt }) });
  server.reply(paths.coinbaseUsdc, { body: coinbaseBody('USDC', { EUR: '0.9' }) });
}

watching('no source, then only one, are alarms after a while; two end them', async (stage) => {
  const { bench, rates, server } = stage;
  for (const path of Object.values(paths)) server.reply(path, { status: 503, body: '' });
  await rates.refresh();
  assert.equal(await bench.look(), []);
  assert.equal(await bench.after(PATIENCE_MS), ['rates_stale']);
  assert.match(
    (await bench.open())[0]?.message ?? '',
    /^no source of rates is fresh: kraken \(.*HTTP 503.*\); coinbase \(/,
  );
  answer(stage, '1.0');
  server.reply(paths.coinbaseUsdt, { status: 503, body: '' });
  await rates.refresh();
  await bench.look();
  assert.equal(await bench.after(PATIENCE_MS), ['rates_single_source']);
  assert.match((await bench.open())[0]?.message ?? '', /^only kraken has fresh rates: coinbase \(/);
  answer(stage, '1.0');
  await rates.refresh();
  await bench.look();
  assert.equal(await bench.after(CALM_MS), []);
});

watching('a coin that lost its peg is an alarm at once, which ends by itself when it is back', async (stage) => {
  const { bench, rates } = stage;
  answer(stage, '0.95');
  await rates.refresh();
  assert.equal(await bench.look(), ['coin_depegged']);
  const [alarm] = await bench.open();
  assert.is(alarm?.key, 'coin:USDT');
  assert.match(
    alarm?.message ?? '',
    /^USDT is worth 0\.9500\d* USD \(kraken, coinbase\)\. It is not offered to sessions/,
  );
  answer(stage, '0.999');
  await rates.refresh();
  await bench.look();
  assert.equal(await bench.after(CALM_MS), []);
});

watching('rates that a person chose need no source', async ({ temp, clock }) => {
  const rates = createRates({
    ...plainRateRules,
    sources: [staticRates({ EUR: '1.08' })],
    refresh: '0 0 1 1 *',
    ageSMax: { static: 86_400 * 400 },
    clock,
    log: openLog('test', 'silent'),
  });
  const bench = watched(watchRates(rates), temp.database, clock);
  await bench.look();
  assert.equal(await bench.after(PATIENCE_MS), []);
  await rates.stop();
});

watching.run();
