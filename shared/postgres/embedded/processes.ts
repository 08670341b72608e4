import { execFile } from 'node:child_process';
import { readFile, readdir, readlink } from 'node:fs/promises';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { sleep } from '../../async/backoff.ts';

const run = promisify(execFile);
const hasProc = process.platform === 'linux';

const signal = (pid: number, name: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(pid, name);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

/** True also for a zombie. */
export const existsProcess = (pid: number): boolean => signal(pid, 0);

export const resume = (pid: number): void => void signal(pid, 'SIGCONT');

/** Empty for a zombie. In a container whose process 1 reaps no orphans, a killed process stays a zombie. */
const commandLine = async (pid: number): Promise<readonly string[]> => {
  const text = hasProc
    ? await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    : (await run('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => ({ stdout: '' }))).stdout.trim();
  return text.split(hasProc ? '\0' : ' ');
};

export const isAlive = async (pid: number): Promise<boolean> =>
  existsProcess(pid) && (await commandLine(pid))[0] !== '';

export const waitForExit = async (pid: number, timeoutMs: number): Promise<boolean> => {
  const deadline = performance.now() + timeoutMs;
  while (await isAlive(pid)) {
    if (performance.now() > deadline) return false;
    await sleep(20);
  }
  return true;
};

/** Fails for processes of other users, and even for root in a container without CAP_SYS_PTRACE. */
const workingDirectory = (pid: number): Promise<string | undefined> =>
  readlink(`/proc/${pid}/cwd`).catch(() => undefined);

export const isPostmasterOf = async (pid: number, dataDirectory: string): Promise<boolean> => {
  const [program = '', ...args] = await commandLine(pid);
  if (basename(program) !== 'postgres') return false;
  return args.join(' ').includes(dataDirectory) || (await workingDirectory(pid)) === dataDirectory;
};

/** The command name in this line is in parentheses, and may contain parentheses. */
const parentOf = async (pid: number): Promise<number> => {
  const line = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return Number(line.slice(line.lastIndexOf(')') + 2).split(' ')[1]);
};

const orphansOf = async (dataDirectory: string): Promise<readonly number[]> => {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0);
  const orphans: number[] = [];
  for (const pid of pids) {
    if ((await workingDirectory(pid)) !== dataDirectory) continue;
    // A postmaster has another title, and its backends have it as their parent.
    const isBackend = (await commandLine(pid))[0]?.startsWith('postgres: ') === true;
    if (isBackend && !(await isPostmasterOf(await parentOf(pid), dataDirectory))) orphans.push(pid);
  }
  return orphans;
};

const ORPHAN_GRACE_MS = 1_000;

/** No postmaster can start before all have ended, and a busy backend notices the loss late. Linux only. */
export const endOrphans = async (dataDirectory: string): Promise<void> => {
  if (!hasProc) return;
  for (const name of ['SIGQUIT', 'SIGKILL'] as const) {
    const orphans = await orphansOf(dataDirectory);
    orphans.forEach((pid) => signal(pid, name));
    await Promise.all(orphans.map((pid) => waitForExit(pid, ORPHAN_GRACE_MS)));
  }
};
