/**
 * Fails on a known vulnerability of high or critical severity in a package that the service needs at run time. Says so
 * when the registry does not answer, and passes then.
 */
import { spawnSync } from 'node:child_process';

const { stdout, error } = spawnSync('npm', ['audit', '--omit=dev', '--audit-level=high', '--json'], {
  encoding: 'utf8',
  timeout: 60_000,
});

const answer = (() => {
  try {
    return JSON.parse(stdout);
  } catch {
    return { message: error?.message ?? 'npm printed no JSON' };
  }
})();

const counts = answer.metadata?.vulnerabilities;
if (counts === undefined) {
  process.stdout.write(`audit: not done, the registry could not be asked: ${answer.message}\n`);
} else {
  const { high, critical, total } = counts;
  process.stdout.write(`audit: ${total} known vulnerabilities, ${high} high, ${critical} critical\n`);
  for (const { name, severity, range } of Object.values(answer.vulnerabilities)) {
    process.stdout.write(`audit: ${severity}: ${name} ${range}\n`);
  }
  process.exitCode = high + critical > 0 ? 1 : 0;
}
