/**
 * A process that writes to a database until it is killed. It prints each answered command at once,
 * unbuffered, so that the line is out before the next command begins.
 *
 *   node --import tsx writer.ts <file> <first number>
 */
import { writeSync } from 'node:fs';
import { addressOf, Feed, newSession, pays, sessionOf, T0_MS } from '../../conformance/database/place.ts';
import { connectTo } from '../../support/temp-database.ts';

const [file = '', first = '0'] = process.argv.slice(2);
const database = connectTo(file, 20_000);
const say = (line: string): void => void writeSync(1, `${line}\n`);

const feed = new Feed(database, 'one');
feed.chain = [...(await database.blocks.tail(feed.network, 50))];
feed.blocksMade = Number(first) * 10;

for (let number = Number(first); ; number++) {
  const outcome = await database.sessions.create(newSession(`w${number}`, { nowMs: T0_MS + number }));
  const to = addressOf(sessionOf(outcome));
  say(`created w${number}`);
  const block = await feed.mine([pays(to, 400n, { tx: `0x${number}a` }), pays(to, 600n, { tx: `0x${number}b` })]);
  say(`seen w${number}`);
  if (number % 4 === 3) {
    await feed.reorg(1, [[], [pays(to, 1000n, { tx: `0x${number}c` })]]);
    say(`reorged w${number}`);
  }
  await feed.confirm(number % 4 === 3 ? (feed.chain.at(-1) ?? block) : block);
  say(`paid w${number}`);
}
