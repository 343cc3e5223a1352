/**
 * A separate process: the least that a server of signed creates could be. Express reads JSON, SQLite inserts one row,
 * synced to the disk before the answer. It also sends any page that it is given. Argument: the database's file. Sends
 * its port.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import Sqlite from 'better-sqlite3';
import express from 'express';

const [file = ''] = process.argv.slice(2);
const database = new Sqlite(file);
database.pragma('journal_mode = WAL');
database.pragma('synchronous = FULL');
database.exec('CREATE TABLE sales (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT');
const insert = database.prepare('INSERT INTO sales (body) VALUES (?)');

const shop = express();
shop.use(express.json());
shop.post('/', (request, response) => {
  const { lastInsertRowid: id } = insert.run(JSON.stringify(request.body));
  response.json({ id: Number(id), ...request.body });
});
let page = '';
process.on('message', (text: string) => {
  page = text;
});
shop.get('/', (_request, response) => response.type('html').send(page));
const server = shop.listen(0, '127.0.0.1');
await once(server, 'listening');
process.on('disconnect', () => process.kill(process.pid));
process.send?.((server.address() as AddressInfo).port);
