/**
 * The health check of the image: asks `/live`. After three failures in a row it kills the program, because Docker starts
 * a container again when its program ends, but not when it is unhealthy. Kubernetes does that itself, and for systemd a timer does (deploy/systemd).
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const FAILURES_MAX = 3;
const FAILURES = '/tmp/health-failures';
const WITHIN_MS = 3_000;

const isAlive = async () => {
  const url = `http://127.0.0.1:${process.env['PORT'] ?? '3000'}/live`;
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(WITHIN_MS) })).ok;
  } catch {
    return false;
  }
};

const failuresBefore = () => {
  try {
    return Number(readFileSync(FAILURES, 'utf8')) || 0;
  } catch {
    return 0;
  }
};

const isProgram = (pid) => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes('dist/bundle/main.js');
  } catch {
    return false;
  }
};

/** Not process 1, which the kernel protects from signals of its own container: that is the init process. */
const killProgram = () => {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && name !== '1');
  for (const pid of pids.filter(isProgram)) process.kill(Number(pid), 'SIGKILL');
};

if (await isAlive()) {
  rmSync(FAILURES, { force: true });
} else {
  const failures = failuresBefore() + 1;
  writeFileSync(FAILURES, String(failures));
  process.stdout.write(`no answer of /live, ${failures} times in a row\n`);
  process.exitCode = 1;
  if (failures >= FAILURES_MAX) {
    rmSync(FAILURES, { force: true });
    killProgram();
  }
}
