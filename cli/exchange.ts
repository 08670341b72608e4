import { runCommand } from './run-command.ts';

/** The operator's command line. Works beside a running service and without one. */

// Whoever reads has read enough (`| head`): what is being done goes on.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

const { env: environment, stdout, stderr, argv } = process;
process.exitCode = await runCommand(argv.slice(2), { environment, stdout, stderr });
