import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/**
 * A bare Node stream to a file of `FOLDER`: no account, no token, nothing looked at. `/sync` is on the disk (`fsync`)
 * when it is answered, `/hash-sync` has its SHA-256 as well. The file is removed afterwards.
 */
const folder = process.env['FOLDER'] ?? '.';
let files = 0;

const server = createServer((request, response) => {
  const path = join(folder, `bare-${files++}`);
  const hash = createHash('sha256');
  if (request.url?.includes('hash') === true) request.on('data', (chunk: Buffer) => hash.update(chunk));
  const flush = request.url?.includes('sync') === true;
  void pipeline(request, createWriteStream(path, { flush })).then(() => {
    response.end(JSON.stringify({ sha256: hash.digest('hex') }));
    return rm(path);
  });
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`);
});
