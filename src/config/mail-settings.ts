/**
 * The mail server of the installation.
 */
import * as z from 'zod';
import { isMailAddress, readMailServer } from '../lib/mail-server.ts';
import { group, setting } from './setting.ts';

export const mail = z.union(
  [
    z.null(),
    group({
      url: setting(
        'smtps://USER:PASSWORD@HOST[:465] (TLS), or smtp://USER:PASSWORD@HOST[:587] (STARTTLS)',
        (value) => (typeof value === 'string' && readMailServer(value)) || undefined,
        false,
      ),
      from: setting<string>('a mail address', (value) => (isMailAddress(String(value)) ? String(value) : undefined)),
    }),
  ],
  { error: 'expected null or {"url": "smtps://…", "from": "shop@example.com"}' },
);
