/**
 * Bodies as the public rate sources write them, including fields that Quayside does not read.
 */

/**
 * docs.kraken.com/api-reference/market-data/get-ticker-information: [best ask, best bid] by market, among markets of
 * coins.
 */
export function krakenBody(markets: Readonly<Record<string, readonly [ask: string, bid: string]>>): string {
  const ticker = ([ask, bid]: readonly [string, string]) => ({
    a: [ask, '5119', '5119.000'],
    b: [bid, '2202', '2202.000'],
    c: [bid, '24.91580000'],
    v: ['1068294.66', '2264913.78'],
    p: [ask, bid],
    t: [1153, 2547],
    l: [bid, bid],
    h: [ask, ask],
    o: bid,
  });
  const others = { USDTZUSD: ticker(['1.00010', '1.00000']), XXBTZEUR: ticker(['91500.10000', '91500.00000']) };
  const asked = Object.entries(markets).map(([market, prices]) => [market, ticker(prices)]);
  return JSON.stringify({ error: [], result: { ...others, ...Object.fromEntries(asked) } });
}

/** Kraken's refusals come with status 200. */
export const krakenError = (error: string): string => JSON.stringify({ error: [error] });

/** binance-spot-api-docs, rest-api.md "Symbol price ticker": price by symbol, among symbols of coins. */
export function binanceBody(prices: Readonly<Record<string, string>>): string {
  const all = { ETHBTC: '0.03120000', SCRUSDT: '0.31200000', ...prices };
  return JSON.stringify(Object.entries(all).map(([symbol, price]) => ({ symbol, price })));
}

/** docs.cdp.coinbase.com/coinbase-app/track-apis/exchange-rates: units of each currency and coin for one `currency`. */
export const coinbaseBody = (currency: string, rates: Readonly<Record<string, string>>): string =>
  JSON.stringify({ data: { currency, rates: { BTC: '0.0000103456', USD: '1.0', ...rates } } });

/** www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml: units of each currency for one euro. */
export function ecbBody(day: string, rates: Readonly<Record<string, string>>): string {
  const cubes = Object.entries(rates).map(([code, rate]) => `\t\t\t<Cube currency='${code}' rate='${rate}'/>\n`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
\t<gesmes:subject>Reference rates</gesmes:subject>
\t<gesmes:Sender>
\t\t<gesmes:name>European Central Bank</gesmes:name>
\t</gesmes:Sender>
\t<Cube>
\t\t<Cube time='${day}'>
${cubes.join('')}\t\t</Cube>
\t</Cube>
</gesmes:Envelope>
`;
}

/** The path of each source. */
export const paths = {
  kraken: '/0/public/Ticker',
  binance: '/api/v3/ticker/price?symbolStatus=TRADING',
  coinbaseUsdt: '/v2/exchange-rates?currency=USDT',
  coinbaseUsdc: '/v2/exchange-rates?currency=USDC',
  ecb: '/stats/eurofxref/eurofxref-daily.xml',
} as const;
