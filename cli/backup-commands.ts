import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Config } from '../app/config.ts';
import { openInstallation, type Installation } from '../app/installation.ts';
import { createLog } from '../app/log.ts';
import { operatorStoreTimeouts } from '../app/store-timeouts.ts';
import { countServices } from '../shared/postgres/running-services.ts';
import { keyRingOf } from '../shared/secrets/key-ring.ts';
import { createBackup } from './backup/create-backup.ts';
import { readManifest, type Manifest } from './backup/manifest.ts';
import {
  hasKeys,
  restoreBackup,
  restoreKeys,
  RestoreError,
  type RestoreResult,
} from './backup/restore-backup.ts';
import type { OperatorCommand, Tools } from './command.ts';
import { sealNewChain, verifyWholeLog } from './log-commands.ts';
import { lastCheckpoint } from '../shared/log-chain/checkpoints.ts';
import { ArgumentsError } from './parse-args.ts';
import { rebuildOffline, verifyReadModels } from './read-model-commands.ts';

export const addBackupCommands = (program: OperatorCommand, tools: Tools): void => {
  const group = program
    .command('backup')
    .description('Backs up, restores and moves an installation: its tables, events, secrets and assets.');
  group
    .command('create')
    .description(
      'Writes a backup to a new folder: everything in Postgres, the events, and the bytes of assets. The service may run.',
    )
    .argument('<FOLDER>')
    .option(
      '--with-keys',
      'Also writes the keys that decrypt the secrets, for a move. Store such a folder like a key.',
    )
    .exits({ 1: 'a secret or an asset is missing, or the backup failed' })
    .example('backups/2026-11-26')
    .action((folder: string, { withKeys = false }: { readonly withKeys?: boolean }) =>
      create(folder, withKeys, tools),
    );
  group
    .command('restore')
    .description(
      'Fills the empty stores of the settings from a backup, of these kinds or others, and verifies every event, secret ' +
        'and asset. Run it again after an interruption: it starts again.',
    )
    .argument('<FOLDER>')
    .exits({ 1: 'something is missing or differs, or the restore failed' })
    .example('backups/2026-11-26')
    .action((folder: string) => restoreInto(tools.config(), resolve(folder), tools));
  group
    .command('drill')
    .description(
      'Restores a backup to a separate database, verifies the log and the read models there, and deletes it again. ' +
        'The stores of the settings are not touched; their SECRET_KEYS are used.',
    )
    .argument('<FOLDER>')
    .option(
      '--into <DATABASE_URL>',
      'An empty database, which keeps the data. Default: an embedded Postgres.',
    )
    .exits({ 1: 'the backup cannot be restored, or a check found differences' })
    .example('backups/2026-11-26', 'backups/2026-11-26 --into postgres://exchange@db.example.com/drill')
    .action((folder: string, { into }: { readonly into?: string }) => drill(resolve(folder), into, tools));
  group
    .command('move')
    .description(
      'Moves an embedded installation to the stores of the settings, in one step: backup, restore, verification. Stop ' +
        'the service first. The old folder is not changed.',
    )
    .requiredOption('--from <DATA_DIR>', 'the folder of the embedded installation')
    .exits({ 1: 'something is missing or differs, or the move failed' })
    .example('--from .data')
    .action(({ from }: { readonly from: string }) => move(resolve(from), tools));
};

const open = (config: Config): Promise<Installation> =>
  openInstallation(config, 'exchange-operator', createLog('silent'), operatorStoreTimeouts);

const withInstallation = async <T>(
  config: Config,
  work: (installation: Installation) => Promise<T>,
): Promise<T> => {
  const installation = await open(config);
  try {
    await installation.migrate();
    return await work(installation);
  } finally {
    await installation.close();
  }
};

const create = async (folder: string, withKeys: boolean, tools: Tools): Promise<void> => {
  const config = tools.config();
  const installation = await tools.installation();
  const manifest = await tools.withProgress('reading', (onProgress) =>
    createBackup({ installation, config, folder: resolve(folder), withKeys, onProgress }),
  );
  printBackup(folder, manifest, tools);
};

const printBackup = (folder: string, { tables, events, assets, keys }: Manifest, { print }: Tools): void => {
  const rows = Object.values(tables).reduce((sum, table) => sum + table.rows, 0);
  print(
    { step: 'backup', folder, rows, events: events.count, assets: assets.length, keys },
    `${folder}: ${rows} rows, ${events.count} events, ${assets.length} assets; its secrets need the keys ${keys.join(', ')}`,
  );
};

const restoreInto = async (config: Config, folder: string, tools: Tools): Promise<void> => {
  // Another folder is refused before a database is started.
  await readManifest(folder);
  await restoreKeys(folder, config);
  await withInstallation(config, async (installation) => {
    const restored = await restoreAndRebuild(installation, config, folder, tools);
    if (restored.isOtherLog) {
      tools.remark(
        'Positions of events differ from those of the backup: if its log was sealed, run log seal --new-chain.',
      );
    }
  });
};

const restoreAndRebuild = async (
  installation: Installation,
  config: Config,
  folder: string,
  tools: Tools,
): Promise<RestoreResult> => {
  const restored = await tools.withProgress('restoring', (onProgress) =>
    restoreBackup({ installation, config, folder, onProgress }),
  );
  const { events, secrets, assets, isOtherLog } = restored;
  tools.print(
    { step: 'restored', events, secrets, assets },
    `restored and verified: ${events} events, ${secrets} secrets, ${assets} assets`,
  );
  if (isOtherLog) {
    const print: Tools['print'] = (value, text) => tools.print({ step: 'read-models', ...value }, text);
    await rebuildOffline(installation, { ...tools, print }, false);
  }
  return restored;
};

/** Assets are restored to a temporary folder, the events to the database of the drill. */
const drill = async (folder: string, into: string | undefined, tools: Tools): Promise<void> => {
  await readManifest(folder);
  const directory = await mkdtemp(join(tmpdir(), 'exchange-drill-'));
  try {
    const { DATABASE_URL: _d, EVENTSTORE_URL: _e, ASSET_STORE_URL: _a, ...rest } = tools.config();
    const config: Config = {
      ...rest,
      DATA_DIR: directory,
      ...(into !== undefined && { DATABASE_URL: into }),
    };
    await restoreKeys(folder, config);
    if (!(await hasKeys(folder))) config.SECRET_KEYS ??= await keyRingOf(tools.config())();
    await withInstallation(config, async (installation) => {
      const { isOtherLog, events } = await restoreAndRebuild(installation, config, folder, tools);
      const ofDrill: Tools = { ...tools, config: () => config, installation: async () => installation };
      // The chain of another log names positions that this one does not have; a young log has no chain yet.
      const hasChain = !isOtherLog && (await lastCheckpoint(installation.pool)) !== undefined;
      if (!hasChain) await sealNewChain(ofDrill);
      // A log without events has no seal to verify.
      if (events > 0) await verifyWholeLog(ofDrill);
      await verifyReadModels(ofDrill);
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
};

const move = async (from: string, tools: Tools): Promise<void> => {
  const config = tools.config();
  if (config.DATABASE_URL === undefined) {
    throw new ArgumentsError('DATABASE_URL is not set: it names the Postgres to move to');
  }
  const { DATABASE_URL: _d, EVENTSTORE_URL: _e, ASSET_STORE_URL: _a, SECRET_KEYS: _s, ...rest } = config;
  const source: Config = { ...rest, DATA_DIR: from };
  const directory = await mkdtemp(join(tmpdir(), 'exchange-move-'));
  const folder = join(directory, 'backup');
  try {
    await withInstallation(source, async (installation) => {
      const services = await countServices(installation.pool);
      if (services > 0)
        throw new RestoreError(`${services} processes of the service run on ${from}: stop them, then move`);
      const manifest = await tools.withProgress('reading', (onProgress) =>
        createBackup({ installation, config: source, folder, withKeys: true, onProgress }),
      );
      printBackup(from, manifest, tools);
    });
    await restoreInto(config, folder, tools);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
};
