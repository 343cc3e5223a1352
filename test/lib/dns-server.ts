/**
 * A DNS server on loopback UDP that answers what a test wants, or nothing.
 */
import { createSocket } from 'node:dgram';

const A = 1;
const AAAA = 28;
const NAME_ERROR = 3;

/** IPv4 addresses of a name; `silent` never answers; null: there is no such name. */
export type Zone = (name: string) => Readonly<{ addresses: readonly string[] }> | 'silent' | null;

export type DnsServer = Readonly<{
  /** `127.0.0.1:port` */
  address: string;
  /** The names of the questions for IPv4 addresses, in their order. */
  asked: readonly string[];
  close(): Promise<void>;
}>;

/** Starts a server whose only records are IPv4 addresses (RFC 1035, 4.1). */
export async function startDnsServer(zone: Zone): Promise<DnsServer> {
  const asked: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (question, { port, address }) => {
    const { name, end } = readName(question);
    const type = question.readUInt16BE(end);
    if (type === A) asked.push(name);
    const answer = zone(name);
    if (answer === 'silent') return;
    const records = answer && type === A ? answer.addresses : [];
    const header = Buffer.alloc(12);
    question.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x8180 | (answer ? 0 : NAME_ERROR), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(records.length, 6);
    const body = records.map((ip) => {
      const record = Buffer.alloc(16);
      // A pointer to the name in the question.
      record.writeUInt16BE(0xc00c, 0);
      record.writeUInt16BE(A, 2);
      record.writeUInt16BE(1, 4);
      record.writeUInt16BE(4, 10);
      Buffer.from(ip.split('.').map(Number)).copy(record, 12);
      return record;
    });
    if (type !== A && type !== AAAA) return;
    socket.send(Buffer.concat([header, question.subarray(12, end + 4), ...body]), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

/** Reads the question's name. @returns where it ends, too */
function readName(message: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}
