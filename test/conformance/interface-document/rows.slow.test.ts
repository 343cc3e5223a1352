/**
 * Every row of the interface document against one sandbox, all at the same time: `npm run conformance`. Rows begin
 * together, once the installation runs: most of them wait for blocks, for a minute to pass or for an attempt to be made
 * again.
 */
import { test } from 'uvu';
import { startInstallation } from './installation.ts';
import type { Row, Section } from './row.ts';
import { authenticationSections } from './rows/authentication.ts';
import { refundEndpointSections } from './rows/endpoints-refunds.ts';
import { sessionEndpointSections } from './rows/endpoints-sessions.ts';
import { errorSections } from './rows/errors.ts';
import { eventSections } from './rows/events.ts';
import { resourceSections } from './rows/resources.ts';
import { serviceSections } from './rows/service.ts';
import { stateSections } from './rows/states.ts';
import { variantSections } from './rows/variants.ts';
import { openReceiver, openShop } from './shop.ts';

/** In the document's order. */
const sections: readonly Section[] = [
  ...serviceSections,
  ...resourceSections,
  ...stateSections,
  ...sessionEndpointSections,
  ...refundEndpointSections,
  ...variantSections,
  ...authenticationSections,
  ...eventSections,
  ...errorSections,
];

/** The error of a row; null if it passed. */
type Outcome = Readonly<{ error: unknown }> | null;

async function outcomeOf(work: () => Promise<void>): Promise<Outcome> {
  try {
    await work();
    return null;
  } catch (error) {
    return { error };
  }
}

// A start that fails ends this process, and with it everything that was started.
const installation = await startInstallation();
const { server } = installation.tls;
const receivers = [await openReceiver(server), await openReceiver(server)] as const;
const shop = await openShop(installation, ...receivers);
const outcomes = new Map<Row, Promise<Outcome>>(
  sections.flatMap(({ rows }) => rows).map((row) => [row, outcomeOf(async () => row.check(shop))]),
);
for (const { title, rows } of sections) {
  for (const row of rows) {
    for (const what of row.titles) {
      test(`${title}: ${what}`, async () => {
        const outcome = await outcomes.get(row);
        if (outcome) throw outcome.error;
      });
    }
  }
}
test.after(async () => {
  await Promise.all(outcomes.values());
  for (const { close } of receivers) await close();
  await installation.stop();
});
test.run();
