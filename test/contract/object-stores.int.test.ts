import { execFile } from 'node:child_process';
import { mkdtemp, mkdir, open, readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { sleep } from '../../shared/async/backoff.ts';
import {
  objectKeyOf,
  ObjectStoreUnavailableError,
  type ObjectKey,
  type ObjectStore,
} from '../../shared/storage/object-store.ts';
import { openObjectStore } from '../../shared/storage/open-object-store.ts';
import { parseS3Location, type S3Location } from '../../shared/storage/s3-location.ts';
import { startS3Service, type S3Service } from '../support/s3-service.ts';
import { chunksOf, objectStoreContract } from './object-store.contract.ts';

const run = promisify(execFile);
/** Mounting a small disk needs root. */
const isRoot = process.getuid?.() === 0;

const filesIn = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])).flatMap((entry) =>
    entry.isFile() ? [entry.name] : [],
  );

/** Waits until this process has no open file in the folder. */
const noneOpenIn = async (folder: string): Promise<void> => {
  const isOpen = async (): Promise<boolean> => {
    const files = await readdir('/proc/self/fd');
    const paths = await Promise.all(
      files.map((file) => readlink(join('/proc/self/fd', file)).catch(() => '')),
    );
    return paths.some((path) => path.startsWith(folder));
  };
  for (let tries = 0; await isOpen(); tries += 1) {
    if (tries === 100) throw new Error(`files of ${folder} stay open`);
    await sleep(50);
  }
};

const keyOf = (text: string): ObjectKey => {
  const key = objectKeyOf(text);
  if (key === undefined) throw new Error(`no key: ${text}`);
  return key;
};

objectStoreContract('a folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'objects-'));
  return {
    store: await openObjectStore(undefined, folder),
    drafts: () => filesIn(join(folder, 'assets', 'drafts')),
    count: async () => (await filesIn(join(folder, 'assets', 'objects'))).length,
    stop: () => rm(folder, { recursive: true, force: true }),
  };
});

objectStoreContract('S3', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'objects-'));
  const s3 = await startS3Service();
  return {
    store: await openObjectStore(parseS3Location(s3.url), folder),
    drafts: () => filesIn(join(folder, 'uploads')),
    count: async () => s3.objects.size,
    stop: async () => {
      await s3.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
});

/** An S3 store of others, with the bucket: `npm run test:containers` names one. */
const OTHER_S3 = process.env['TEST_S3_URL'];

const othersStore = (location: S3Location): void => {
  const { bucket, prefix, region, endpoint, credentials } = location;

  objectStoreContract('an S3 store of others', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'objects-'));
    const client = new S3Client({
      region,
      forcePathStyle: true,
      ...(endpoint !== undefined && { endpoint }),
      ...(credentials !== undefined && { credentials }),
    });
    const list = new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix });
    return {
      store: await openObjectStore(location, folder),
      drafts: () => filesIn(join(folder, 'uploads')),
      count: async () => (await client.send(list)).KeyCount ?? NaN,
      stop: async () => {
        client.destroy();
        await rm(folder, { recursive: true, force: true });
      },
    };
  });

  it.each([
    ['a wrong secret', { ...location, credentials: { accessKeyId: 'unknown', secretAccessKey: 'wrong' } }],
    ['a bucket that does not exist', { ...location, bucket: `${bucket}-missing` }],
  ])('reports %s', async (_what, wrong) => {
    const folder = await mkdtemp(join(tmpdir(), 'objects-'));
    const store = await openObjectStore(wrong, folder);
    await expect(store.check()).rejects.toThrow(ObjectStoreUnavailableError);
    await expect(store.remove(keyOf('ab-1.png'))).rejects.toThrow(ObjectStoreUnavailableError);
    const draft = await store.begin(keyOf('ab-1.png'), 'image/png');
    await draft.write(chunksOf(Buffer.from('x')));
    await expect(draft.keep()).rejects.toThrow(ObjectStoreUnavailableError);
    await rm(folder, { recursive: true, force: true });
  });
};
if (OTHER_S3 !== undefined) othersStore(parseS3Location(OTHER_S3));

describe('an object store that does not work', () => {
  let folder: string;
  let s3: S3Service;
  let store: ObjectStore;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'objects-'));
    s3 = await startS3Service();
    store = await openObjectStore(parseS3Location(s3.url), folder);
  });
  afterAll(async () => {
    await s3.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it.each(['error', 'cut'] as const)('reports it: S3, %s', async (how) => {
    s3.fail(how);
    const key = keyOf('ab-1.png');
    await expect(store.sizeOf(key)).rejects.toThrow(ObjectStoreUnavailableError);
    await expect(store.read(key)).rejects.toThrow(ObjectStoreUnavailableError);
    await expect(store.remove(key)).rejects.toThrow(ObjectStoreUnavailableError);
    await expect(store.check()).rejects.toThrow(ObjectStoreUnavailableError);
    const draft = await store.begin(key, 'image/png');
    await draft.write(chunksOf(Buffer.from('x')));
    await expect(draft.keep()).rejects.toThrow(ObjectStoreUnavailableError);
    expect(await filesIn(join(folder, 'uploads'))).toEqual([]);
    await noneOpenIn(folder);
    s3.fail(undefined);
    expect(await store.sizeOf(key)).toBeUndefined();
  });

  it('reports it: S3 without the bucket', async () => {
    s3.fail('no-bucket');
    const draft = await store.begin(keyOf('ab-1.png'), 'image/png');
    await draft.write(chunksOf(Buffer.from('x')));
    await expect(draft.keep()).rejects.toThrow(ObjectStoreUnavailableError);
    await expect(store.check()).rejects.toThrow(ObjectStoreUnavailableError);
    await expect(store.remove(keyOf('ab-1.png'))).rejects.toThrow(ObjectStoreUnavailableError);
    s3.fail(undefined);
  });

  it('reports it: a folder without write permission', async () => {
    const broken = await openObjectStore(undefined, join(folder, 'broken'));
    await mkdir(join(folder, 'broken', 'assets'), { recursive: true });
    await writeFile(join(folder, 'broken', 'assets', 'objects'), '');
    const draft = await broken.begin(keyOf('ab-1.png'), 'image/png');
    await draft.write(chunksOf(Buffer.from('x')));
    await expect(draft.keep()).rejects.toThrow(ObjectStoreUnavailableError);
    expect(await filesIn(join(folder, 'broken', 'assets', 'drafts'))).toEqual([]);
    await noneOpenIn(join(folder, 'broken'));
  });

  const withSmallDisk = isRoot ? it : it.skip;
  withSmallDisk('reports it: a full disk, and leaves no file', async () => {
    const disk = join(folder, 'disk');
    await mkdir(disk);
    await run('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', disk]);
    try {
      const full = await openObjectStore(undefined, disk);
      const draft = await full.begin(keyOf('ab-1.png'), 'image/png');
      const written = draft.write(chunksOf(Buffer.alloc(1_000_000), 65_536));
      await expect(written).rejects.toThrow(ObjectStoreUnavailableError);
      await expect(written).rejects.toMatchObject({ cause: { code: 'ENOSPC' } });
      await draft.discard();
      expect(await filesIn(disk)).toEqual([]);
      await noneOpenIn(disk);
    } finally {
      // Lazily: other programs of this machine may look at it for a moment.
      await run('umount', ['--lazy', disk]);
    }
  });

  it('reports it: bytes that the disk lost while more arrived, though the last sync succeeds', async () => {
    const broken = join(folder, 'lossy');
    await mkdir(broken);
    const handle = await open(broken, 'r');
    await handle.close();
    const lost = Object.assign(new Error('EIO: i/o error'), { code: 'EIO', syscall: 'fdatasync' });
    const datasync = jest.spyOn(Object.getPrototypeOf(handle), 'datasync').mockRejectedValueOnce(lost);
    try {
      const draft = await (await openObjectStore(undefined, broken)).begin(keyOf('ab-1.png'), 'image/png');
      const written = draft.write(chunksOf(Buffer.alloc(12_000_000), 65_536));
      await expect(written).rejects.toThrow(ObjectStoreUnavailableError);
      await expect(written).rejects.toMatchObject({ cause: lost });
      await draft.discard();
      await noneOpenIn(broken);
    } finally {
      datasync.mockRestore();
    }
  });

  it('reports a wrong secret', async () => {
    const wrong = parseS3Location(s3.url.replace('test%2Fsecret', 'other%2Fsecret'));
    await expect((await openObjectStore(wrong, folder)).check()).rejects.toThrow(ObjectStoreUnavailableError);
  });

  it('keeps each object whole, in one request, under its prefix and with its type', async () => {
    const draft = await store.begin(keyOf('ab-2.png'), 'image/png');
    await draft.write(chunksOf(Buffer.alloc(300_000, 7), 65_536));
    await draft.keep();
    const object = s3.objects.get('some/place/ab-2.png');
    expect([object?.bytes.equals(Buffer.alloc(300_000, 7)), object?.contentType]).toEqual([
      true,
      'image/png',
    ]);
    expect(s3.requests.filter((request) => request.includes('ab-2.png'))).toHaveLength(1);
  });

  it('reports it: a folder that is a file', async () => {
    await writeFile(join(folder, 'assets'), '');
    const broken = await openObjectStore(undefined, folder);
    await expect(broken.begin(keyOf('ab-1.png'), 'image/png')).rejects.toThrow(ObjectStoreUnavailableError);
    await expect(broken.check()).rejects.toThrow(ObjectStoreUnavailableError);
  });
});

describe('the address of an S3 store', () => {
  it('is parsed', () => {
    expect(parseS3Location('s3://assets?region=eu-central-1')).toEqual({
      bucket: 'assets',
      prefix: '',
      region: 'eu-central-1',
    });
    expect(parseS3Location('s3://a%2Fb:c%40d@assets/x/y?endpoint=https://minio:9000')).toEqual({
      bucket: 'assets',
      prefix: 'x/y/',
      region: 'us-east-1',
      endpoint: 'https://minio:9000',
      credentials: { accessKeyId: 'a/b', secretAccessKey: 'c@d' },
    });
  });
  it.each([
    'https://assets',
    's3://',
    's3://A_B',
    's3://key@assets',
    's3://assets:9000',
    's3://assets?endpoint=minio',
    's3://assets?endpoint=https:///minio',
    's3://assets?regoin=x',
    's3://assets/a%2f..',
    'nonsense',
  ])('refuses %s', (text) => expect(() => parseS3Location(text)).toThrow(RangeError));
});

describe('an object key', () => {
  it.each([
    '',
    'a',
    '..',
    '../../etc/passwd',
    'ab/cd',
    'AB-1',
    'ab-1.PNG',
    'ab-1.png\0',
    `ab${'c'.repeat(200)}`,
    '.ab',
    'ab-1.',
  ])('refuses %j', (text) => expect(objectKeyOf(text)).toBeUndefined());
});
