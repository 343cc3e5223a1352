/** Runs rows against one installation, all at the same time, and reports each as a test. */
import type { Test } from 'uvu';
import { type Installation, startInstallation } from './installation.ts';
import type { Row, Section } from './row.ts';
import { openReceiver, openShop, type Receiver } from './shop.ts';

/** What a row threw, or null. */
type Outcome = Readonly<{ error: unknown }> | null;

/**
 * Adds a test for each row. Rows begin together, once the installation runs: most of them wait for blocks, for a minute
 * to pass or for an attempt to be made again.
 */
export function runRows(test: Test, sections: readonly Section[]): void {
  const outcomes = new Map<Row, Promise<Outcome>>();
  let installation: Installation | null = null;
  const receivers: (Receiver & Readonly<{ close(): Promise<void> }>)[] = [];

  test.before(async () => {
    installation = await startInstallation();
    const { server } = installation.tls;
    const [receiver, trouble] = await Promise.all([openReceiver(server), openReceiver(server)]);
    receivers.push(receiver, trouble);
    const shop = await openShop(installation, receiver, trouble);
    for (const { rows } of sections) {
      for (const row of rows)
        outcomes.set(
          row,
          outcomeOf(async () => row.check(shop)),
        );
    }
  });
  for (const { title, rows } of sections) {
    for (const row of rows) {
      test(`${title}: ${row.title}`, async () => {
        const outcome = await outcomes.get(row);
        if (outcome) throw outcome.error;
      });
    }
  }
  test.after(async () => {
    await Promise.all(outcomes.values());
    for (const receiver of receivers) await receiver.close();
    await installation?.stop();
  });
}

async function outcomeOf(work: () => Promise<void>): Promise<Outcome> {
  try {
    await work();
    return null;
  } catch (error) {
    return { error };
  }
}
