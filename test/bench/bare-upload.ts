import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/**
 * Writes an upload to a file in `FOLDER` with a bare Node stream. It answers after SHA-256, `fsync` and rename. It has
 * no account or token and does not inspect the content. The file is removed after the answer.
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
