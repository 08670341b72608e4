import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { parseS3Location } from '../../shared/storage/s3-location.ts';
import { join } from 'node:path';
import { packageDirectory } from '../../app/version.ts';
import type { Settings } from './deployment.ts';
import type { Docker } from './docker.ts';
import { OUTSIDE_IMAGE } from './images.ts';

/** Its `:` and `/` must be escaped in the address. */
const KEY = 'exchange:assets';
const SECRET = 'test/secret+key=';

/** The address of the store of `outside/s3.sh`, as a host is seen from where the program runs. */
export const s3UrlOf = (host: string): string => {
  const endpoint = encodeURIComponent(`http://${host}:8080`);
  const credentials = [KEY, SECRET].map(encodeURIComponent).join(':');
  return `s3://${credentials}@exchange-assets/some/place?region=us-east-1&endpoint=${endpoint}`;
};

export const s3Settings: Settings = { S3_SECRET: SECRET, ASSET_STORE_URL: s3UrlOf('s3.example.com') };

/** The store alone, with its bucket. @returns the host at which this machine reaches it */
export const startStore = async (docker: Docker): Promise<string> => {
  const script = `${join(packageDirectory, 'test/containers/outside/s3.sh')}:/outside/s3.sh:ro`;
  const options = ['--detach', '--name', 's3', '--env', `S3_SECRET=${SECRET}`, '--volume', script];
  await docker('run', ...options, OUTSIDE_IMAGE, 'sh', '/outside/s3.sh');
  const format = '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}';
  const host = await docker('inspect', '--format', format, 's3');
  await createBucket(host);
  return host;
};

/** What an operator does once. @param host at which this machine reaches the store */
export const createBucket = async (host: string): Promise<void> => {
  const { bucket, region, endpoint = '', credentials } = parseS3Location(s3UrlOf(host));
  const client = new S3Client({
    region,
    endpoint,
    forcePathStyle: true,
    ...(credentials !== undefined && { credentials }),
    // It takes some seconds to start.
    maxAttempts: 20,
  });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  client.destroy();
};
