/**
 * The dashboard's style sheet. Its URL changes with its content.
 * @module
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** The tokens are the payment page's, so that both look alike in light and dark. */
const paymentPage = readFileSync(new URL('../checkout/browser/page.css', import.meta.url), 'utf8');
const tokens = paymentPage.slice(0, paymentPage.indexOf('* {'));

export const styleSheet = tokens + readFileSync(new URL('./browser/dashboard.css', import.meta.url), 'utf8');

export const STYLE_PATH = `/assets/${createHash('sha256').update(styleSheet).digest('base64url').slice(0, 16)}.css`;
