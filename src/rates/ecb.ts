/**
 * The European Central Bank's reference rates, which are amounts of each currency for one euro, fixed on working days.
 * USDT and USDC are taken at par with the dollar. The ECB publishes the rates for information only, so use other
 * sources too.
 *
 * Format: www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml.
 */
import { divideRates, type Rate } from '../core/rate.ts';
import { currencies as stablecoins } from '../core/transfer.ts';
import { getText, type HttpLimits } from './http.ts';
import { malformed, type Pair, pairOf, type RateSource, readPrice } from './source.ts';

const NAME = 'ecb';
const limits: HttpLimits = { origin: 'https://www.ecb.europa.eu', timeoutMs: 10_000, bytesMax: 256 << 10 };

/** Largest age of the rates. The ECB publishes on working days, and five days cover its longest holidays. */
const AGE_S_MAX = 432_000;

const fiat = (
  'AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD HUF IDR ILS INR ISK JPY KRW MXN MYR NOK NZD PHP PLN RON SEK SGD THB ' +
  'TRY ZAR'
).split(' ');

const cubes = /<Cube\b([^<>]*)>/g;
const attributes = /([a-z]+)=(?:'([^'<>]*)'|"([^"<>]*)")/g;

/** @param at another address and limits, for tests and proxies */
export function ecb(at: Partial<HttpLimits> = {}): RateSource {
  return {
    name: NAME,
    ageSMax: AGE_S_MAX,
    currencies: new Set(fiat),
    async fetch(signal) {
      const text = await getText(NAME, { ...limits, ...at }, '/stats/eurofxref/eurofxref-daily.xml', signal);
      const { asOfMs, perEuro } = readReferenceRates(text);
      const dollar = perEuro.get('USD');
      if (!dollar) throw malformed(NAME, 'the USD rate', 'is missing');
      const quotes = new Map<Pair, Rate>();
      for (const currency of fiat) {
        const other = perEuro.get(currency);
        if (!other && currency !== 'EUR') continue;
        const rate = other ? divideRates(dollar, other) : dollar;
        for (const target of stablecoins) quotes.set(pairOf(currency, target), rate);
      }
      return { quotes, asOfMs };
    },
  };
}

/** Reads the document: `<Cube time='2026-11-20'>` with one `<Cube currency='USD' rate='1.0865'/>` per currency. */
function readReferenceRates(text: string): { asOfMs: number; perEuro: ReadonlyMap<string, Rate> } {
  if (!/<\/gesmes:Envelope>\s*$/.test(text))
    throw malformed(NAME, 'the document', 'does not end with </gesmes:Envelope>');
  const days: string[] = [];
  const perEuro = new Map<string, Rate>();
  for (const [, inside = ''] of text.matchAll(cubes)) {
    const cube = new Map([...inside.matchAll(attributes)].map(([, name, single, double]) => [name, single ?? double]));
    const day = cube.get('time');
    if (day !== undefined) days.push(day);
    const currency = cube.get('currency');
    if (currency === undefined) continue;
    if (perEuro.has(currency)) throw malformed(NAME, `the ${currency} rate`, 'is given twice');
    const rate = readPrice(NAME, `the ${currency} rate`, cube.get('rate'));
    if (rate) perEuro.set(currency, rate);
  }
  const [day = ''] = days;
  // The rates are published at about 16:00 in Frankfurt, which is 14:00 UTC at the earliest.
  const asOfMs = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(`${day}T14:00:00Z`) : Number.NaN;
  if (days.length !== 1 || Number.isNaN(asOfMs))
    throw malformed(NAME, 'the time', `is not one day: ${days.slice(0, 3)}`);
  return { asOfMs, perEuro };
}
