import { request } from 'node:http';
import { apiOf } from '../../support/api-client.ts';
import { png } from '../../support/sample-media.ts';
import { reserve } from '../../support/uploads.ts';
import { startChildServer } from '../child-server.ts';
import { alternate, lineOf } from '../measure.ts';
import { openFileService } from '../stage.ts';
import type { Scenario } from './scenario.ts';

const BYTES = 10_000_000;
const IN_FLIGHT = 4;
/** Small uploads before the first measurement, so that all code is compiled as in a service that runs for days. */
const WARM_UP = { uploads: 1_000, bytes: 10_000 };
const MB = 1e6;

const GOAL = 0.9;

/**
 * Uploaded bytes per second, to a folder on the same disk as those of a bare Node stream with SHA-256, `fsync` and
 * rename. The service also inspects each upload and records it in the log. Each upload's reservation is not counted.
 */
export const uploads: Scenario = async (bench) => {
  const { folder, service, apiKey } = await bench.shared(openFileService);
  const bare = await startChildServer('bare-upload.js', { FOLDER: folder });
  bench.atEnd(() => bare.stop());
  const api = apiOf(`http://127.0.0.1:${service.port}`, { Authorization: `Bearer ${apiKey}` });
  const { id } = (await api.post<{ id: number }>('/advertisers', { name: 'Bench' })).body.data;
  const bytes = png(1, 1, BYTES - 33);
  const count = bench.quick ? 6 : 24;

  const putAll = async (urls: readonly string[], body: Buffer): Promise<void> => {
    const waiting = [...urls];
    const lanes = Array.from({ length: IN_FLIGHT }, async () => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await put(next, body);
    });
    await Promise.all(lanes);
  };
  const rate = async (urls: readonly string[]): Promise<number> => {
    const startedAt = performance.now();
    await putAll(urls, bytes);
    return (urls.length * BYTES) / MB / ((performance.now() - startedAt) / 1_000);
  };
  const reserved = async (times: number): Promise<readonly string[]> => {
    const urls: string[] = [];
    for (let n = 0; n < times; n += 1) {
      const { body } = await reserve(api, id, { name: 'Bench', mimeType: 'image/png' });
      const { pathname, search } = new URL(body.data.uploadUrl);
      urls.push(`http://127.0.0.1:${service.port}${pathname}${search}`);
    }
    return urls;
  };
  const ofBare = (times: number): readonly string[] =>
    Array.from({ length: times }, () => `http://127.0.0.1:${bare.port}/`);
  if (!bench.quick) {
    const body = png(1, 1, WARM_UP.bytes - 33);
    await putAll(await reserved(WARM_UP.uploads), body);
    await putAll(ofBare(WARM_UP.uploads), body);
  }
  const rates = await alternate(
    bench.rounds,
    async () => rate(await reserved(count)),
    () => rate(ofBare(count)),
  );
  return [
    lineOf({
      name: `uploads of ${BYTES / MB} MB, ${IN_FLIGHT} in flight`,
      unit: 'MB/s',
      ...rates,
      baselineName: 'bare Node stream with SHA-256, fsync and rename',
      goal: GOAL,
    }),
  ];
};

const put = (url: string, bytes: Buffer): Promise<void> =>
  new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/octet-stream', 'Content-Length': bytes.length };
    const client = request(url, { method: 'PUT', headers }, (response) => {
      response.resume();
      response.once('end', () =>
        response.statusCode === 200 ? resolve() : reject(new Error(`status ${response.statusCode}`)),
      );
    });
    client.once('error', reject);
    client.end(bytes);
  });
