/**
 * A real browser for tests: the Chromium that comes inside an npm package, without a window.
 * @module
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

// The package brings the libraries that Chromium needs and a machine without a desktop lacks, but unpacks them only where it believes
// itself on such a machine; it looks when it is loaded.
process.env.AWS_LAMBDA_JS_RUNTIME ??= 'nodejs20.x';
const { default: packaged } = await import('@sparticuz/chromium');

/** The tests' machines run as root and in containers, where Chromium's own sandbox and shared memory are not to be had. */
const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];

export const phone: BrowserContextOptions = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

export async function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: await packaged.executablePath(), args: ARGUMENTS });
}

/** A page and everything that went wrong in it: errors, refused resources, requests to other hosts. */
export type WatchedPage = Readonly<{ page: Page; complaints: readonly string[] }>;

export async function openPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ locale: 'en-GB', ...options });
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

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe-core finds against WCAG 2.2 A and AA and its own best practices, one line each. */
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
