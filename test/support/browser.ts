/**
 * A real browser for tests, without a window.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core';
import { startBrowserProcess } from './browser-process.ts';
import { until } from './until.ts';

export const phone: BrowserContextOptions = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

/**
 * Connects to the Chromium of the whole test run; a file that is run alone gets one of its own. Closing it closes its
 * pages.
 */
export async function openBrowser(): Promise<Browser> {
  const shared = process.env.TEST_BROWSER;
  if (shared) return chromium.connect(shared);
  const own = await startBrowserProcess((line) => process.stderr.write(`${line}\n`));
  const browser = await chromium.connect(own.address);
  browser.once('disconnected', own.stop);
  return browser;
}

/** As long as `until` waits: browsers share a busy machine with whole installations. */
const PATIENCE_MS = 180_000;

/** A page and everything that went wrong in it: errors, blocked resources, requests to other hosts. */
export type WatchedPage = Readonly<{ page: Page; complaints: readonly string[] }>;

export async function openPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ locale: 'en-GB', ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !url.startsWith('data:')) complaints.push(`a request to ${url}`);
  });
  return { page, complaints };
}

/** Waits until the place has these words: a click or a tap returns before the page that follows it is there. */
export const shows = (place: Locator, words: string | RegExp): Promise<void> =>
  place.filter({ hasText: words }).waitFor({ state: 'attached' });

/**
 * Expects `copy` to copy the text. The page keeps what it copied, because pages of other tests share the clipboard of
 * the browser.
 */
export async function copies(page: Page, text: string, copy: () => Promise<void>): Promise<void> {
  await page.evaluate(`(({ clipboard }) => {
    const write = clipboard.writeText.bind(clipboard);
    clipboard.writeText = async (text) => {
      await write(text);
      window.copied = text;
    };
  })(navigator)`);
  await copy();
  await until(`"${text}" is copied`, async () => (await page.evaluate('window.copied')) === text);
}

/** Stops the page's timers: what it shows or waits for a time stays so until `page.clock` runs or resumes. */
export async function stopTimers(page: Page): Promise<void> {
  const nowMs = Date.now();
  await page.clock.install({ time: nowMs });
  await page.clock.pauseAt(nowMs + 60_000);
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Returns what axe-core finds against WCAG 2.2 A and AA and its own best practices, one line each. */
export async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(axeSource);
  const found = await page.evaluate(
    `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })`,
  );
  const { violations } = found as {
    violations: { id: string; help: string; nodes: { html: string; failureSummary: string }[] }[];
  };
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} (${failureSummary})`),
  );
}

/** Returns by how many pixels a page is wider than the screen, and the controls that are too small to touch. */
export const misfits = (page: Page, controls: string): Promise<string[]> =>
  page.evaluate(`(() => {
    const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
    const small = [...document.querySelectorAll(${JSON.stringify(controls)})]
      .map((one) => [one.textContent, one.getBoundingClientRect()])
      .filter(([, box]) => box.height > 0 && box.height < 44)
      .map(([text, box]) => text + ' is ' + box.height + ' high');
    return [...(wide > 0 ? ['too wide by ' + wide] : []), ...small];
  })()`) as Promise<string[]>;
