import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../app/config.ts';
import { createBackup } from '../../cli/backup/create-backup.ts';
import { assetPath, tablePath, type Manifest } from '../../cli/backup/manifest.ts';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { upload } from '../support/uploads.ts';

/** The service runs: an asset may be deleted, or uploaded, between any two steps of a backup. */

let service: RunningService;
let account: TestAccount;
let advertiserId: number;
let folder: string;
beforeEach(async () => {
  service = await startRunningService();
  account = await service.openAccount();
  const { body } = await account.api.post<AdvertiserResource>('/advertisers', { name: 'Acme' });
  advertiserId = body.data.id;
  folder = await mkdtemp(join(tmpdir(), 'exchange-backup-'));
});
afterEach(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

const add = async (text: string): Promise<string> => {
  const asset = { name: 'Asset', mimeType: 'text/plain' };
  return (await upload(account.api, advertiserId, asset, Buffer.from(text))).assetId;
};

const remove = async (assetId: string): Promise<void> => {
  const { status } = await account.api.delete(`/advertisers/${advertiserId}/assets/${assetId}`);
  expect(status).toBe(204);
};

const target = (): string => join(folder, 'backup');

const areTablesWritten = (): Promise<boolean> =>
  access(tablePath(`${target()}.partial`, 'events')).then(
    () => true,
    () => false,
  );

interface ReadOfLog {
  readonly isAtEnd: boolean;
  readonly isAfterTables: boolean;
}

/** @param meanwhile runs once, at the first read of the log that `isIt` */
const backUp = async (
  isIt: (read: ReadOfLog) => boolean,
  meanwhile: () => Promise<unknown>,
): Promise<Manifest> => {
  const { installation } = service;
  let isDone = false;
  const sealedStore: typeof installation.sealedStore = {
    ...installation.sealedStore,
    readAll: async (options) => {
      const isAfterTables = await areTablesWritten();
      const page = await installation.sealedStore.readAll(options);
      if (!isDone && isIt({ isAtEnd: page.length === 0, isAfterTables })) {
        isDone = true;
        await meanwhile();
      }
      return page;
    },
  };
  const config = readConfig({
    NODE_ENV: 'test',
    DATA_DIR: service.dataDir,
    ...service.stores,
    SECRET_KEYS: `test:${'A'.repeat(43)}`,
  });
  const manifest = await createBackup({
    installation: { ...installation, sealedStore },
    config,
    folder: target(),
    withKeys: false,
    onProgress: () => undefined,
  });
  expect(isDone).toBe(true);
  return manifest;
};

const textOfIds = (ids: readonly string[]): readonly string[] =>
  ids.map((id) => id.replace(/^\D+_/, '').replaceAll('-', ''));

const idsIn = ({ assets }: Manifest): readonly string[] => assets.map(({ key }) => key.split('-')[0] ?? '');

it('an asset that is deleted before its bytes are copied is not missing', async () => {
  const [kept, deleted] = [await add('kept'), await add('deleted')];
  const manifest = await backUp(
    ({ isAtEnd }) => isAtEnd,
    () => remove(deleted),
  );
  expect(idsIn(manifest)).toEqual(textOfIds([kept]));
  expect(manifest.events.count).toBe(manifest.tables['events']?.rows);
});

it('an asset that is deleted after the tables were copied is still in the backup: its row is', async () => {
  const asset = await add('deleted later');
  const manifest = await backUp(
    ({ isAfterTables }) => isAfterTables,
    () => remove(asset),
  );
  expect(idsIn(manifest)).toEqual(textOfIds([asset]));
  expect(manifest.events.count).toBe(manifest.tables['events']?.rows);
  await access(assetPath(target(), manifest.assets[0]?.key ?? ''));
});

it('an asset that is uploaded while others are copied is in the backup', async () => {
  const first = await add('first');
  let second = '';
  const manifest = await backUp(
    ({ isAtEnd, isAfterTables }) => isAtEnd && !isAfterTables,
    async () => (second = await add('second')),
  );
  expect(idsIn(manifest)).toEqual(textOfIds([first, second]));
});
