import { describe, expect, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageDirectory } from '../../src/shared/package-directory.ts';
import { chartOf } from '../bench/figures/chart.ts';
import { mergeFigures, type Figures, type RunFigures } from '../bench/figures/figures.ts';
import { mainLines, mainLinesOf } from '../bench/figures/main-lines.ts';
import { publicationOf } from '../bench/figures/publication.ts';
import { latestFigures, readmeSection, withSection } from '../bench/figures/sections.ts';
import { lineOf, type Comparison, type Line } from '../bench/measure.ts';

const comparison = (of: Partial<Comparison>): Line =>
  lineOf({ name: 'GET list', unit: '/s', ours: [200], baseline: [100], baselineName: 'bare', ...of });

const run = (of: Partial<RunFigures> = {}): RunFigures => ({
  machine: {
    system: 'Linux 6.18',
    cores: 2,
    processor: 'AMD EPYC',
    memoryGib: 24,
    node: 'v20.20.2',
    postgres: '18.4',
    packages: { express: '5.3.0' },
    durability: 'fsync on',
  },
  command: 'npm run bench -- --quick',
  startedAt: '2026-01-01T10:00:00.000Z',
  loadAtStart: 0.2,
  loadAtEnd: 2.1,
  ...of,
});

const figuresOf = (startedAt: string, lines: Readonly<Record<string, readonly Line[]>>): Figures => ({
  runs: { [startedAt]: run({ startedAt }) },
  scenarios: Object.entries(lines).map(([scenario, taken]) => ({
    scenario,
    run: startedAt,
    startedAt,
    seconds: 1,
    loadBefore: 0.5,
    loadAfter: 1.5,
    lines: taken,
  })),
});

describe('a line', () => {
  test('says what it reached of its goal, 1 and more being met', () => {
    expect(comparison({ goal: 4 })).toMatchObject({ ratio: 2, ofGoal: 0.5, met: false });
    expect(comparison({ goal: 2 })).toMatchObject({ ofGoal: 1, met: true });
  });

  test('turns a limit around', () => {
    expect(comparison({ goal: 4, atMost: true })).toMatchObject({ ofGoal: 2, met: true });
    expect(comparison({ goal: 1, atMost: true })).toMatchObject({ ofGoal: 0.5, met: false });
  });

  test('has a goal in its own unit where nothing is beside it', () => {
    const alone = lineOf({ name: 'start', unit: 's', ours: [1, 4, 2], goal: 3, atMost: true });
    expect(alone).toMatchObject({ oursMedian: 2, ofGoal: 1.5, met: true });
  });
});

describe('figures of several runs', () => {
  const first = figuresOf('2026-01-01T10:00:00.000Z', { read: [comparison({ ours: [1] })], append: [] });
  const second = figuresOf('2026-01-02T10:00:00.000Z', { read: [comparison({ ours: [2] })], growth: [] });

  test("are each scenario's last ones, in the order of the first", () => {
    const merged = mergeFigures([first, second]);
    expect(merged.scenarios.map(({ scenario }) => scenario)).toEqual(['read', 'append', 'growth']);
    expect(merged.scenarios[0]?.lines[0]?.ours).toEqual([2]);
    expect(Object.keys(merged.runs)).toEqual(['2026-01-01T10:00:00.000Z', '2026-01-02T10:00:00.000Z']);
  });

  test('leave out a run of which nothing is left', () => {
    const again = figuresOf('2026-01-03T10:00:00.000Z', { read: [], append: [] });
    expect(Object.keys(mergeFigures([first, again]).runs)).toEqual(['2026-01-03T10:00:00.000Z']);
  });
});

describe('the chart', () => {
  const lines = [
    comparison({ name: 'fast', goal: 1 }),
    comparison({ name: 'slow <&>', goal: 8 }),
    comparison({ name: 'no goal' }),
  ];
  const chart = chartOf('Goals', lines, ['2 cores, Node v20']);
  const attribute = (text: string, name: string): number =>
    Number(new RegExp(`\\b${name}="([^"]+)"`).exec(text)?.[1]);
  const barOf = (kind: string): string =>
    new RegExp(`<rect class="${kind}"[^>]*>`).exec(chart)?.[0] ?? 'no bar';
  const goalX = attribute(/<line class="goal"[^>]*>/.exec(chart)?.[0] ?? '', 'x1');

  test('has a bar for each line with a goal, to the right of the goal where it is met, to the left where not', () => {
    expect(chart.match(/<g>/g)).toHaveLength(2);
    expect(attribute(barOf('met'), 'x')).toBe(goalX);
    expect(attribute(barOf('missed'), 'x') + attribute(barOf('missed'), 'width')).toBeCloseTo(goalX, 0);
  });

  test('is logarithmic: a quarter of the goal is twice as far away as its double', () => {
    expect(attribute(barOf('missed'), 'width') / attribute(barOf('met'), 'width')).toBeCloseTo(2, 1);
  });

  test('tells met from missed by words and by a pattern, not by colour alone', () => {
    expect(chart).toContain('>met: 2.00x, goal &gt;= 1x<');
    expect(chart).toContain('>missed: 2.00x, goal &gt;= 8x<');
    expect(chart).toContain('.missed { fill: url(#hatched)');
  });

  test('reads in light and dark, escapes what it shows, and says what it was taken with', () => {
    expect(chart).toContain('@media (prefers-color-scheme: dark)');
    expect(chart).toContain('slow &lt;&amp;&gt;');
    expect(chart).toContain('2 cores, Node v20');
  });

  test('can be drawn of nothing', () => {
    expect(chartOf('Goals', [], [])).not.toContain('NaN');
  });
});

describe('sections', () => {
  const figures = figuresOf('2026-01-01T10:00:00.000Z', {
    create: [comparison({ name: 'POST /advertisers, 32 connections', goal: 0.8 })],
    kernel: [comparison({ name: 'constant' })],
  });

  test("the README's names goal, ours, baseline, ratio and outcome of the main lines, and what they were taken with", () => {
    const section = readmeSection(figures);
    expect(section).toMatch(
      /\| POST \/advertisers, 32 connections \| >= 0.8x \| 200 \/s \| bare: 100 +\| 2.00x \| met \|/,
    );
    expect(section).not.toContain('| constant');
    expect(section).toContain('2 cores (AMD EPYC), 24 GiB, Linux 6.18, Node v20.20.2, Postgres 18.4');
    expect(section).toContain(
      '`npm run bench -- --quick`, 2026-01-01 10:00 UTC, load 0.2 at its start and 2.1 at its end',
    );
    expect(section).not.toContain('busy');
  });

  test('a run says when the machine was busy before it began', () => {
    const busy = { ...figures, runs: { '2026-01-01T10:00:00.000Z': run({ loadAtStart: 7 }) } };
    expect(readmeSection(busy)).toContain('the machine was busy with other work');
  });

  test('the latest figures are all lines, with the load around each scenario', () => {
    expect(latestFigures(figures)).toMatch(/\| kernel +\| constant .*\| 0.5 to 1.5 \|/);
  });

  test('replace what is between their marks, and only that', () => {
    const [begin, end] = [
      '<!-- x: made from docs/performance.json by `npm run bench:publish` -->',
      '<!-- end of x -->',
    ];
    const document = `before\n${begin}\nold\n${end}\nafter`;
    const once = withSection(document, 'x', 'new');
    expect(once).toBe(`before\n${begin}\n\nnew\n\n${end}\nafter`);
    expect(withSection(once, 'x', 'new')).toBe(once);
    expect(() => withSection('nothing', 'x', 'new')).toThrow('<!-- x:');
  });
});

describe('what is published', () => {
  const read = (path: string): Promise<string> => readFile(join(packageDirectory, path), 'utf8');
  const committed = async (): Promise<Figures> => JSON.parse(await read('docs/performance.json')) as Figures;

  test.each(['README.md', 'docs/performance.md', 'docs/performance.svg', 'docs/performance.json'])(
    '%s is what the generator makes of docs/performance.json',
    async (path) => {
      const documents = {
        'README.md': await read('README.md'),
        'docs/performance.md': await read('docs/performance.md'),
      };
      expect(await read(path)).toBe(publicationOf(await committed(), documents)[path]);
    },
  );

  test('every main line of a scenario that was taken is found', async () => {
    const figures = await committed();
    const taken = new Set(figures.scenarios.map(({ scenario }) => scenario));
    const expected = mainLines.filter(([scenario]) => taken.has(scenario));
    expect(mainLinesOf(figures)).toHaveLength(expected.length);
  });
});
