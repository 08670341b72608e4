import { runCommand } from './run-command.ts';

// A closed pipe (`| head`) must not abort the command's work.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

const { env: environment, stdout, stderr, argv } = process;
process.exitCode = await runCommand(argv.slice(2), { environment, stdout, stderr });
