import { execFile } from 'node:child_process';
import { readFile, readdir, readlink } from 'node:fs/promises';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { sleep } from '../../backoff.ts';

const run = promisify(execFile);
const hasProc = process.platform === 'linux';

/** Whether a signal would find the process, dead but unreaped ones (zombies) included. */
export const existsProcess = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

interface ProcessState {
  /** `Z` for a zombie. */
  readonly state: string;
  readonly parent: number;
}

/** The command name in this line is in parentheses and may itself hold any of them. */
const stateOf = async (pid: number): Promise<ProcessState | undefined> => {
  const line = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  const [state, parent] = line?.slice(line.lastIndexOf(')') + 2).split(' ') ?? [];
  return state === undefined ? undefined : { state, parent: Number(parent) };
};

/** Where nobody reaps orphans (process 1 of many containers) a killed process stays for ever, as a zombie. */
export const isAlive = async (pid: number): Promise<boolean> => {
  if (!existsProcess(pid)) return false;
  if (!hasProc) return true;
  const found = await stateOf(pid);
  return found !== undefined && found.state !== 'Z';
};

/** @returns false when it is still there after `timeoutMs` */
export const waitForExit = async (pid: number, timeoutMs: number): Promise<boolean> => {
  const deadline = performance.now() + timeoutMs;
  while (await isAlive(pid)) {
    if (performance.now() > deadline) return false;
    await sleep(20);
  }
  return true;
};

const commandLine = async (pid: number): Promise<readonly string[]> => {
  if (hasProc) return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
  const { stdout } = await run('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  return stdout.trim().split(' ');
};

/** Not readable for other users' processes, not even by root in a container without CAP_SYS_PTRACE. */
const workingDirectory = async (pid: number): Promise<string | undefined> =>
  hasProc ? readlink(`/proc/${pid}/cwd`).catch(() => undefined) : undefined;

/**
 * Whether the process is a postmaster of this data directory, and not some other program that was given the
 * number of a dead one.
 */
export const isPostmasterOf = async (pid: number, dataDirectory: string): Promise<boolean> => {
  if (!(await isAlive(pid))) return false;
  const [program = '', ...args] = await commandLine(pid);
  if (basename(program) !== 'postgres') return false;
  return args.join(' ').includes(dataDirectory) || (await workingDirectory(pid)) === dataDirectory;
};

/**
 * Backends of this data directory whose postmaster was killed. A busy one notices only at the end of its
 * statement, and no new postmaster starts until all are gone. Found on Linux only: elsewhere they are waited for.
 */
export const orphanedBackends = async (dataDirectory: string): Promise<readonly number[]> => {
  if (!hasProc) return [];
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const inDirectory = new Set<number>();
  for (const pid of pids) {
    if ((await workingDirectory(pid)) === dataDirectory) inDirectory.add(pid);
  }
  const orphans: number[] = [];
  for (const pid of inDirectory) {
    const parent = (await stateOf(pid))?.parent;
    const [title = ''] = await commandLine(pid);
    // A child of a new postmaster has it as its parent; a new postmaster itself has another title.
    if (parent !== undefined && !inDirectory.has(parent) && title.startsWith('postgres: ')) orphans.push(pid);
  }
  return orphans;
};
