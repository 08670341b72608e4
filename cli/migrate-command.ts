import { version } from '../app/version.ts';
import type { OperatorCommand, Tools } from './command.ts';

/** Every other command migrates, too, as each process does at its start. This one does nothing else. */
export const addMigrateCommand = (program: OperatorCommand, { installation, print }: Tools): void => {
  program
    .command('migrate')
    .description(
      'Brings the schema of the database to this version, creating it if it is empty. Each process of the service does ' +
        'so at its start; run it before, to see whether it succeeds. Several may run at the same time.',
    )
    .action(async () => {
      await installation();
      print({ version }, `The schema is that of version ${version}.`);
    });
};
