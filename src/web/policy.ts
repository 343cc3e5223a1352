/** Headers of answers with pages, for browsers. */
import type { RequestHandler } from 'express';
import helmet from 'helmet';
import { invariant } from '../core/fault.ts';

type Allowed = Readonly<{
  /** Other origins that the page may call. */
  connect?: readonly string[];
  /** Origins whose pages may frame it. */
  ancestors?: readonly string[];
  mayRun?: boolean;
  mayPost?: boolean;
  isUpgraded?: boolean;
}>;

/** Returns the content security policy of a page: it loads only its own files. */
export function contentPolicy(allowed: Allowed): string {
  const { connect = [], ancestors = [], mayRun = true, mayPost = true, isUpgraded = false } = allowed;
  const isSource = (origin: string) => !/[\s;,*]/.test(origin);
  invariant([...connect, ...ancestors].every(isSource), 'an origin of a security policy ends no directive');
  return [
    "default-src 'none'",
    ...(mayRun ? ["script-src 'self'"] : []),
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src ${["'self'", ...connect].join(' ')}`,
    "base-uri 'none'",
    `form-action ${mayPost ? "'self'" : "'none'"}`,
    `frame-ancestors ${ancestors.length === 0 ? "'none'" : ancestors.join(' ')}`,
    ...(isUpgraded ? ['upgrade-insecure-requests'] : []),
  ].join('; ');
}

type Protection = Readonly<{
  isHttps: boolean;
  referrer: 'same-origin' | 'no-referrer';
  /** Further headers, such as the content security policy. */
  headers: Readonly<Record<string, string>>;
}>;

/** Returns handlers that set every security header. */
export const protect = ({ isHttps, referrer, headers }: Protection): readonly RequestHandler[] => [
  helmet({
    contentSecurityPolicy: false,
    frameguard: { action: 'deny' },
    referrerPolicy: { policy: referrer },
    strictTransportSecurity: isHttps,
  }),
  (_request, response, next) => {
    response.set(headers);
    next();
  },
];
