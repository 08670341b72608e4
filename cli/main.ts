import { runCommand } from './run-command.ts';

// A closed pipe (`| head`) must not abort the command's work.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

const { env: environment, stdout, stderr, argv } = process;
const status = await runCommand(argv.slice(2), { environment, stdout, stderr });
// A name look-up of the event store's client that no caller waits for would keep the process for half a minute.
stdout.write('', () => stderr.write('', () => process.exit(status)));
