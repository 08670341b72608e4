import { describe, expect, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageDirectory } from '../../app/version.ts';
import { chartOf } from '../bench/figures/chart.ts';
import { mergeFigures, type Figures, type RunFigures } from '../bench/figures/figures.ts';
import { mainLines, mainLinesOf } from '../bench/figures/main-lines.ts';
import { addUp, partOf } from '../bench/figures/profile.ts';
import { unexplained } from '../bench/figures/missed.ts';
import { documentPaths, FIGURES_PATH, publicationOf, type Documents } from '../bench/figures/publication.ts';
import {
  databaseText,
  planLines,
  statementsOf,
  type Execution,
  type PlanNode,
} from '../bench/figures/plans.ts';
import {
  latestFigures,
  latestProfiles,
  missedGoals,
  mainLinesSection,
  withSection,
} from '../bench/figures/sections.ts';
import { alternateAmong, lineOf, type Comparison, type Line } from '../bench/measure.ts';

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
  test('gives its ratio to the goal; the goal is met from 1 upwards', () => {
    expect(comparison({ goal: 4 })).toMatchObject({ ratio: 2, ofGoal: 0.5, met: false });
    expect(comparison({ goal: 2 })).toMatchObject({ ofGoal: 1, met: true });
  });

  test('inverts the ratio for a limit', () => {
    expect(comparison({ goal: 4, atMost: true })).toMatchObject({ ofGoal: 2, met: true });
    expect(comparison({ goal: 1, atMost: true })).toMatchObject({ ofGoal: 0.5, met: false });
  });

  test('has a goal in its own unit if it has no baseline', () => {
    const alone = lineOf({ name: 'start', unit: 's', ours: [1, 4, 2], goal: 3, atMost: true });
    expect(alone).toMatchObject({ oursMedian: 2, ofGoal: 1.5, met: true });
  });
});

describe('several measurements and several baselines', () => {
  test('are each measured once in a round, and compared within the same round', async () => {
    const order: string[] = [];
    const counting = (name: string, from: number) => () => {
      order.push(name);
      return Promise.resolve(from + order.filter((one) => one === name).length);
    };
    const comparisonOf = await alternateAmong(
      2,
      [counting('a', 0), counting('b', 10)],
      [counting('x', 100), counting('y', 200)],
    );
    expect(order.join('')).toBe('xyab'.repeat(3));
    expect(comparisonOf(1, 0)).toMatchObject({ ours: [12, 13], baseline: [102, 103] });
    expect(comparisonOf(0, 1)).toMatchObject({ ours: [2, 3], baseline: [202, 203] });
  });
});

describe('figures of several runs', () => {
  const first = figuresOf('2026-01-01T10:00:00.000Z', { read: [comparison({ ours: [1] })], append: [] });
  const second = figuresOf('2026-01-02T10:00:00.000Z', { read: [comparison({ ours: [2] })], growth: [] });

  test("contain each scenario's latest figures, in the order of the first run", () => {
    const merged = mergeFigures([first, second]);
    expect(merged.scenarios.map(({ scenario }) => scenario)).toEqual(['read', 'append', 'growth']);
    expect(merged.scenarios[0]?.lines[0]?.ours).toEqual([2]);
    expect(Object.keys(merged.runs)).toEqual(['2026-01-01T10:00:00.000Z', '2026-01-02T10:00:00.000Z']);
  });

  test('omit a run that no scenario refers to', () => {
    const again = figuresOf('2026-01-03T10:00:00.000Z', { read: [], append: [] });
    expect(Object.keys(mergeFigures([first, again]).runs)).toEqual(['2026-01-03T10:00:00.000Z']);
  });
});

describe('figures of a run with profiles', () => {
  const plain = figuresOf('2026-01-01T10:00:00.000Z', { read: [comparison({ ours: [1] })] });
  const profiled = (startedAt: string): Figures => {
    const figures = figuresOf(startedAt, { read: [comparison({ ours: [9] })] });
    const profile = { run: startedAt, busy: 0.5, parts: [{ part: 'pg', share: 0.25 }] };
    return { ...figures, scenarios: figures.scenarios.map((taken) => ({ ...taken, profile })) };
  };
  const [early, late] = [profiled('2026-01-02T10:00:00.000Z'), profiled('2026-01-03T10:00:00.000Z')];
  const linesAndProfile = (all: readonly Figures[]) =>
    mergeFigures(all).scenarios.map(({ lines, profile }) => [lines[0]?.ours, profile?.run]);

  test.each([
    ['before', [early, plain]],
    ['after', [plain, early]],
    ['merged already', [mergeFigures([plain, early]), early]],
  ])('contain the profile, and the lines of a run without a profile: %s', (_, all) => {
    expect(linesAndProfile(all)).toEqual([[[1], '2026-01-02T10:00:00.000Z']]);
    expect(Object.keys(mergeFigures(all).runs).toSorted()).toEqual([
      '2026-01-01T10:00:00.000Z',
      '2026-01-02T10:00:00.000Z',
    ]);
  });

  test('contain the lines of a profiled run if there is no other, and the latest profile', () => {
    expect(linesAndProfile([early, late])).toEqual([[[9], '2026-01-03T10:00:00.000Z']]);
    expect(latestProfiles(late)).toMatch(/\| read +\| busy 50 %; pg 25 % +\| 2026-01-03 10:00 \|/);
  });
});

describe('figures of a run with plans', () => {
  const [plain, planned] = ['2026-01-01T10:00:00.000Z', '2026-01-02T10:00:00.000Z'];
  const node = (of: Partial<PlanNode>): PlanNode => ({
    'Node Type': 'Index Scan',
    'Index Name': 'by_name',
    'Relation Name': 'things',
    'Plan Rows': 50,
    'Actual Rows': 50,
    'Actual Total Time': 0.5,
    'Actual Loops': 1,
    'Shared Hit Blocks': 40,
    'Shared Read Blocks': 0,
    ...of,
  });
  const executed = (ms: number, of: Partial<Execution> = {}): Execution => ({
    database: 'one',
    text: 'select',
    ms,
    plan: node({ 'Actual Total Time': ms }),
    ...of,
  });
  const statements = statementsOf([executed(1), executed(3), executed(2)]).get('one') ?? [];
  const database = { tables: [{ name: 'things', rows: 20_000 }], statements };
  const figures = mergeFigures([
    figuresOf(plain, { growth: [comparison({ name: 'list', ours: [1], goal: 1 })] }),
    {
      ...figuresOf(planned, { growth: [] }),
      scenarios: figuresOf(planned, {
        growth: [comparison({ name: 'list', ours: [9], goal: 1 })],
      }).scenarios.map((taken) => ({ ...taken, plans: { run: planned, databases: [database] } })),
    },
  ]);

  test('omit its lines and plans if another run has the lines', () => {
    expect(figures.scenarios.map(({ lines, plans }) => [lines[0]?.ours, plans])).toEqual([[[1], undefined]]);
    expect(Object.keys(figures.runs)).toEqual([plain]);
  });

  test('are printed with the statements and the size of the data', () => {
    const section = databaseText(database);
    expect(section).toContain('Largest tables: `things` 20,000 rows.');
    expect(section).toContain(
      'select\n-- 3 executions, median 2 ms, total 6 ms\n  Index Scan by by_name on things: 50 rows, 2 ms, 40 pages\n',
    );
  });

  test('list each missed goal with its profile, or the command that makes one', () => {
    expect(missedGoals(figures)).toMatch(
      /\| growth +\| list \| 0\.01 +\| none so far: `npm run bench -- --only growth --profile profiles` \|/,
    );
    const profile = { run: planned, busy: 0.5, loopDelayMs: 12, parts: [{ part: 'pg', share: 0.25 }] };
    const profiled = { ...figures, scenarios: figures.scenarios.map((taken) => ({ ...taken, profile })) };
    expect(missedGoals(profiled)).toContain('| busy 50 %; event-loop delay p99 12.0 ms; pg 25 % ');
    expect(missedGoals(figuresOf(plain, { growth: [comparison({ goal: 1 })] }))).toBe('None.');
  });

  test('show the median execution, and the one with most pages if it has more than twice as many', () => {
    const large = executed(9, { plan: node({ 'Shared Hit Blocks': 60, 'Shared Read Blocks': 40 }) });
    const [statement] = statementsOf([executed(1), large, executed(2)]).get('one') ?? [];
    expect(statement).toMatchObject({ medianMs: 2, totalMs: 12 });
    expect(statement?.plan[0]).toContain(', 2 ms, 40 pages');
    expect(statement?.largestPlan?.[0]).toContain('100 pages, 40 of them read');
    expect(statements[0]).not.toHaveProperty('largestPlan');
  });

  test('are grouped by database and sorted by total time', () => {
    const all = [
      executed(5),
      executed(1, { text: 'often' }),
      executed(5, { text: 'often' }),
      executed(1, { database: 'two' }),
    ];
    const byDatabase = statementsOf(all);
    expect([...byDatabase.keys()]).toEqual(['one', 'two']);
    expect(byDatabase.get('one')?.map(({ text }) => text)).toEqual(['often', 'select']);
  });

  test('show wrong estimates and filtered rows, and omit nodes that were not executed', () => {
    const lines = planLines(
      node({
        'Node Type': 'Limit',
        Plans: [
          node({ 'Plan Rows': 1, 'Actual Rows': 100, 'Actual Loops': 3, 'Rows Removed by Filter': 7 }),
          node({ 'Actual Loops': 0, 'Relation Name': 'unasked' }),
        ],
      }),
    );
    expect(lines).toHaveLength(2);
    expect(lines[1]).toBe(
      '  Index Scan by by_name on things: 100 rows (expected 1), 3 times, 7 filtered out, 1.5 ms, 40 pages',
    );
  });

  test('are truncated if they have very many nodes', () => {
    const lines = planLines(node({ Plans: Array.from({ length: 50 }, () => node({})) }));
    expect(lines).toHaveLength(31);
    expect(lines.at(-1)).toBe('and 21 more nodes');
  });
});

describe('a profile', () => {
  const second = 1_000_000;
  const frame = (id: number, functionName: string, url: string) => ({
    id,
    callFrame: { functionName, url, lineNumber: 0, columnNumber: 0 },
  });
  const profile = {
    nodes: [
      frame(1, '(idle)', ''),
      frame(2, '(garbage collector)', ''),
      frame(3, 'work', 'file:///x/query/resources/page.ts'),
      frame(4, 'query', 'file:///x/node_modules/pg/lib/client.js'),
      frame(5, 'starting', 'file:///x/app/main.ts'),
    ],
    samples: [5, 3, 3, 2, 4, 1],
    timeDeltas: [second, 2 * second, second, second, second, 5 * second],
  };

  test('adds up time by part, without start-up and idle time', () => {
    const figures = addUp([{ profile, sourceOf: ({ url }) => url }]);
    expect(figures.busy).toBeCloseTo(0.5);
    expect(figures.parts).toEqual([
      { part: 'query/resources', share: 3 / 5 },
      { part: 'garbage collection', share: 1 / 5 },
      { part: 'pg', share: 1 / 5 },
    ]);
  });

  test('of a process that was already running counts no start-up time and no time of the profiler', () => {
    const nodes = [...profile.nodes, frame(6, 'dispatch', '')];
    const measured = { nodes, samples: [3, 6, 4], timeDeltas: [second, 8 * second, 3 * second] };
    const figures = addUp([{ profile: measured, sourceOf: ({ url }) => url, isMeasurement: true }]);
    expect(figures).toEqual({
      busy: 1,
      parts: [
        { part: 'pg', share: 3 / 4 },
        { part: 'query/resources', share: 1 / 4 },
      ],
    });
  });

  test.each([
    ['node:internal/streams/readable', 'read', 'node:streams'],
    ['node:net', 'connect', 'node:net'],
    ['../../node_modules/@adcp/sdk/dist/index.js', 'call', '@adcp/sdk'],
    ['../../app/main.ts', 'main', 'app/main'],
    ['', '(program)', 'native code of Node'],
    ['', 'stringify', 'native stringify'],
  ])('%s is named as a reader would search for it', (source, functionName, part) => {
    expect(partOf(source, functionName)).toBe(part);
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

  test('has a bar for each line with a goal: to the right of the goal if it is met, else to the left', () => {
    expect(chart.match(/<g>/g)).toHaveLength(2);
    expect(attribute(barOf('met'), 'x')).toBe(goalX);
    expect(attribute(barOf('missed'), 'x') + attribute(barOf('missed'), 'width')).toBeCloseTo(goalX, 0);
  });

  test('is logarithmic: a quarter of the goal is twice as far from it as its double', () => {
    expect(attribute(barOf('missed'), 'width') / attribute(barOf('met'), 'width')).toBeCloseTo(2, 1);
  });

  test('distinguishes met from missed by text and by a pattern, not only by colour', () => {
    expect(chart).toContain('>met: 2.00x, goal &gt;= 1x<');
    expect(chart).toContain('>missed: 2.00x, goal &gt;= 8x<');
    expect(chart).toContain('.missed { fill: url(#hatched)');
  });

  test('has light and dark colours, escapes texts, and names the machine', () => {
    expect(chart).toContain('@media (prefers-color-scheme: dark)');
    expect(chart).toContain('slow &lt;&amp;&gt;');
    expect(chart).toContain('2 cores, Node v20');
  });

  test('can be drawn without lines', () => {
    expect(chartOf('Goals', [], [])).not.toContain('NaN');
  });
});

describe('sections', () => {
  const figures = figuresOf('2026-01-01T10:00:00.000Z', {
    create: [comparison({ name: 'POST /advertisers, 32 connections', goal: 0.8 })],
    kernel: [comparison({ name: 'constant' })],
  });

  test('the section of main lines shows goal, result, baseline, ratio and outcome, and names the machine', () => {
    const section = mainLinesSection(figures);
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

  test('a run states if the machine was busy before it began', () => {
    const busy = { ...figures, runs: { '2026-01-01T10:00:00.000Z': run({ loadAtStart: 7 }) } };
    expect(mainLinesSection(busy)).toContain('the machine was busy with other work');
  });

  test('the latest figures contain all lines, with the load before and after each scenario', () => {
    expect(latestFigures(figures)).toMatch(/\| kernel +\| constant .*\| 0.5 to 1.5 \|/);
  });

  test('replace only the text between their markers', () => {
    const [begin, end] = [
      '<!-- x: made from test/bench/results/performance.json by `npm run bench:publish` -->',
      '<!-- end of x -->',
    ];
    const document = `before\n${begin}\nold\n${end}\nafter`;
    const once = withSection(document, 'x', 'new');
    expect(once).toBe(`before\n${begin}\n\nnew\n\n${end}\nafter`);
    expect(withSection(once, 'x', 'new')).toBe(once);
    expect(() => withSection('nothing', 'x', 'new')).toThrow('<!-- x:');
  });
});

describe('a missed goal', () => {
  const missed = figuresOf('2026-01-01T10:00:00.000Z', {
    read: [comparison({ name: 'GET list of 50', goal: 5 }), comparison({ name: 'GET detail', goal: 1 })],
    key: [comparison({ name: 'POST with a key, 32 connections', goal: 1.5, atMost: true })],
  });
  const document = (row: string): string =>
    `\n## What is missed, and why\n\n| lines | why |\n| --- | --- |\n${row}\n\n## Then\n\n| \`key\` | no |\n`;

  test.each([
    ['| `read` GET list<br>`key` | the reason |', []],
    ['| `read` GET list | the reason |', ['key: POST with a key, 32 connections']],
    ['| `key` POST without | the reason |', ['read: GET list of 50', 'key: POST with a key, 32 connections']],
  ])('is reported if no row of the section names its line: %s', (row, expected) => {
    expect(unexplained(missed, document(row))).toEqual(expected);
  });
});

describe('the published figures', () => {
  const read = (path: string): Promise<string> => readFile(join(packageDirectory, path), 'utf8');
  const committed = async (): Promise<Figures> => JSON.parse(await read(FIGURES_PATH)) as Figures;

  test.each([
    ...documentPaths,
    'docs/performance-throughput.svg',
    'docs/performance-growth.svg',
    'test/bench/results/latest.md',
    'test/bench/results/goals.svg',
    FIGURES_PATH,
  ])('%s is what `npm run bench:publish` writes', async (path) => {
    const documents = Object.fromEntries(
      await Promise.all(documentPaths.map(async (one) => [one, await read(one)] as const)),
    ) as Documents;
    expect(await read(path)).toBe(publicationOf(await committed(), documents)[path]);
  });

  test('every missed goal has a row with its reason', async () => {
    expect(unexplained(await committed(), await read('test/bench/results/notes.md'))).toEqual([]);
  });

  test('docs/performance.md stays short, and its charts have a pair of bars for each request', async () => {
    expect((await read('docs/performance.md')).length).toBeLessThan(12_000);
    for (const [chart, request] of [
      ['throughput', 'POST /advertisers'],
      ['growth', 'GET list, in the middle'],
    ] as const) {
      const svg = await read(`docs/performance-${chart}.svg`);
      expect(svg).toContain(request);
      expect(svg.match(/class="met"/g)?.length).toBe(svg.match(/class="other"/g)?.length);
    }
  });

  test('every main line of a measured scenario is found', async () => {
    const figures = await committed();
    const taken = new Set(figures.scenarios.map(({ scenario }) => scenario));
    const expected = mainLines.filter(([scenario]) => taken.has(scenario));
    expect(mainLinesOf(figures)).toHaveLength(expected.length);
  });
});
