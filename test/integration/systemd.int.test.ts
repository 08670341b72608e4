import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readConfig, variables } from '../../app/config.ts';

/** The units of `deploy/systemd`. systemd's own program judges them. */

const FOLDER = 'deploy/systemd';
const SERVICE = 'buyer-exchange.service';
/** 10 is "unsafe". A program that compiles at run time and uses the network cannot be much below this. */
const EXPOSURE_MAX = 2;

const units = readdirSync(FOLDER).filter((name) => name.startsWith('buyer-exchange'));
const textOf = (unit: string): string => readFileSync(join(FOLDER, unit), 'utf8');
const valueOf = (unit: string, key: string): string =>
  new RegExp(`^${key}=(.*)$`, 'm').exec(textOf(unit))?.[1] ?? '';

const analyze = (args: readonly string[]) => spawnSync('systemd-analyze', args, { encoding: 'utf8' });

const describeWithSystemd = (name: string, tests: () => void): void => {
  const has = analyze(['--version']).status === 0;
  if (!has) {
    if (process.env['CI'] === 'true') throw new Error('no systemd-analyze: install the package systemd');
    console.warn(`No systemd-analyze, so this is not tested: ${name}. Install Debian's package systemd.`);
  }
  (has ? describe : describe.skip)(name, tests);
};

describe('the unit of the service', () => {
  it('gives the program the time that it takes for its own stop at most', () => {
    const [, cutMs = ''] = /STOP_MS_MAX = ([\d_]+);/.exec(readFileSync('app/main.ts', 'utf8')) ?? [];
    const drainMs = [60_000, 60_001].map((ms) => variables.DRAIN_DELAY_MS.safeParse(String(ms)).success);
    expect(drainMs).toEqual([true, false]);
    const seconds = Number(valueOf(SERVICE, 'TimeoutStopSec'));
    expect(seconds).toBeGreaterThan((Number(cutMs.replace('_', '')) + 60_000) / 1_000);
  });

  it('runs as an ordinary user, and is started again unless its settings are wrong', () => {
    const keys = ['User', 'Restart', 'RestartPreventExitStatus', 'ProtectSystem', 'KillMode'];
    expect(keys.map((key) => valueOf(SERVICE, key))).toEqual([
      'buyer-exchange',
      'always',
      '2',
      'strict',
      'mixed',
    ]);
  });

  it('has settings that exist, with values that are accepted', () => {
    const schemas: Readonly<Record<string, { safeParse(value: string): { success: boolean } }>> = variables;
    const lines = [...textOf('exchange.env').matchAll(/^(?:# )?([A-Z_]+)=(.*)$/gm)];
    expect(lines.length).toBeGreaterThan(5);
    for (const [, name = '', value = ''] of lines) {
      const text = value.replace('KEY', 'A'.repeat(43));
      expect([name, schemas[name]?.safeParse(text).success]).toEqual([name, true]);
    }
    const set = lines
      .filter(([line]) => !line.startsWith('#'))
      .map(([, name = '', value = '']) => [name, value]);
    expect(readConfig(Object.fromEntries(set)).DATA_DIR).toBe(
      `/var/lib/${valueOf(SERVICE, 'StateDirectory')}`,
    );
  });

  it('is the one whose user, folder and settings the commands of the operator have', () => {
    const keys = ['User', 'Group', 'WorkingDirectory', 'EnvironmentFile', 'UMask'];
    const options = keys.map((key) => valueOf(SERVICE, key));
    const script = textOf('exchange');
    const given = [
      /--uid=(\S+)/,
      /--gid=(\S+)/,
      /WorkingDirectory=(\S+)/,
      /EnvironmentFile=(\S+)/,
      /UMask=(\S+)/,
    ];
    expect(given.map((pattern) => pattern.exec(script)?.[1])).toEqual(options);
  });
});

describeWithSystemd('systemd', () => {
  let folder: string;
  /** As an operator edits it: where the programs are on this machine. */
  const write = (unit: string, text = textOf(unit)): string => {
    const path = join(folder, unit);
    const program = text.replace('/opt/buyer-exchange', process.cwd());
    writeFileSync(path, program.replaceAll('/usr/bin/node', process.execPath));
    return path;
  };
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'exchange-units-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('accepts every unit without a remark', () => {
    const { status, stderr } = analyze(['verify', ...units.map((unit) => write(unit))]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('finds a key that does not exist', () => {
    const path = write(SERVICE, textOf(SERVICE).replace('ProtectSystem', 'ProtectSystems'));
    expect(analyze(['verify', path]).stderr).toContain('ProtectSystems');
    write(SERVICE);
  });

  it('finds the service well contained', () => {
    const judge = (text?: string) =>
      analyze([
        'security',
        '--offline=yes',
        '--no-pager',
        `--threshold=${EXPOSURE_MAX * 10}`,
        write(SERVICE, text),
      ]);
    const shipped = judge();
    expect({ status: shipped.status, end: shipped.stdout.split('\n').at(-2) }).toEqual({
      status: 0,
      end: expect.stringContaining('OK'),
    });
    expect(judge(textOf(SERVICE).replace(/^CapabilityBoundingSet=$/m, '')).status).toBe(1);
  });
});
