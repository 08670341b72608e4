import { createSocket } from 'node:dgram';
import { once } from 'node:events';

export interface NameServer {
  /** `address:port` */
  readonly address: string;
  /** Names in the order of the questions. */
  readonly asked: readonly string[];
  close(): void;
}

const TYPE_A = 1;

/** A DNS server that knows IPv4 addresses of a few names, and never answers for a name that it does not know. */
export const startNameServer = async (known: Readonly<Record<string, string>>): Promise<NameServer> => {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (query, from) => {
    const { name, end } = questionOf(query);
    asked.push(name);
    const address = known[name];
    if (address === undefined) return;
    const isIpv4 = query.readUInt16BE(end - 4) === TYPE_A;
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x8180, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(isIpv4 ? 1 : 0, 6);
    // Name by reference to the question, type A, class IN, 60 s, four bytes.
    const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...address.split('.').map(Number)]);
    socket.send(
      Buffer.concat([header, query.subarray(12, end), ...(isIpv4 ? [answer] : [])]),
      from.port,
      from.address,
    );
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { address: `127.0.0.1:${socket.address().port}`, asked, close: () => void socket.close() };
};

const questionOf = (query: Buffer): { readonly name: string; readonly end: number } => {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.subarray(at + 1, at + 1 + length).toString('latin1'));
    at += length + 1;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 5 };
};
