import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/**
 * A bare Node stream to a file of `FOLDER` that has its SHA-256, is on the disk (`fsync`) and has its last name when it is
 * answered: no account, no token, nothing looked at. The file is removed afterwards.
 */
const folder = process.env['FOLDER'] ?? '.';
let files = 0;

const server = createServer((request, response) => {
  const path = join(folder, `bare-${files++}`);
  const hash = createHash('sha256');
  request.on('data', (chunk: Buffer) => hash.update(chunk));
  void pipeline(request, createWriteStream(`${path}.draft`, { flush: true }))
    .then(() => rename(`${path}.draft`, path))
    .then(() => {
      response.end(JSON.stringify({ sha256: hash.digest('hex') }));
      return rm(path);
    });
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`);
});
