/** Statements that Postgres executed for the service in a scenario, with the plans that it followed. */
export interface PlanFigures {
  /** Which of the runs. */
  readonly run: string;
  readonly databases: readonly DatabasePlans[];
}

export interface DatabasePlans {
  /** Its largest tables when the scenario was over, the largest first. */
  readonly tables: readonly { readonly name: string; readonly rows: number }[];
  /** Those that took most of the time, in all executions together. */
  readonly statements: readonly StatementPlans[];
}

export interface StatementPlans {
  /** Its beginning and its end, without line breaks. */
  readonly text: string;
  readonly executions: number;
  readonly medianMs: number;
  readonly totalMs: number;
  /** Of the execution of median time: a line for each node, indented below the one that reads it. */
  readonly plan: readonly string[];
  /** Of the one that touched most pages, where they were more than twice as many. */
  readonly largestPlan?: readonly string[];
}

/** A node of `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)`: the members that are shown. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly Operation?: string;
  readonly 'Index Name'?: string;
  readonly 'Relation Name'?: string;
  readonly 'Function Name'?: string;
  readonly 'CTE Name'?: string;
  readonly 'Subplan Name'?: string;
  readonly 'Plan Rows': number;
  /** In each loop, as are the milliseconds. */
  readonly 'Actual Rows': number;
  readonly 'Actual Total Time'?: number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
  readonly 'Temp Written Blocks'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** One execution. */
export interface Execution {
  readonly database: string;
  readonly text: string;
  readonly ms: number;
  readonly plan: PlanNode;
}

/** Lists of one read model begin alike, and differ by their conditions, which come last. */
const [BEGINNING_CHARS, END_CHARS] = [200, 600];
const TEXT_LINE = /.{1,118}(?:\s|$)/g;
const NODES_MAX = 30;
const STATEMENTS_MAX = 6;

const shortened = (text: string): string =>
  text.length > BEGINNING_CHARS + END_CHARS
    ? `${text.slice(0, BEGINNING_CHARS)} … ${text.slice(-END_CHARS)}`
    : text;

/** Whole ones from 10 on: what more digits would say is chance. */
const numberText = (value: number): string =>
  value >= 10 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(2)));

const touched = (node: PlanNode): number =>
  (node['Shared Hit Blocks'] ?? 0) + (node['Shared Read Blocks'] ?? 0);

const nodeText = (node: PlanNode): string => {
  const loops = node['Actual Loops'];
  const name = [
    node['Subplan Name'] === undefined ? '' : `${node['Subplan Name']}: `,
    node.Operation ?? node['Node Type'],
    ...(['Index Name', 'Relation Name', 'Function Name', 'CTE Name'] as const).map((member) =>
      node[member] === undefined ? '' : ` ${member === 'Index Name' ? 'by' : 'on'} ${node[member]}`,
    ),
  ].join('');
  const [rows, expected] = [node['Actual Rows'], node['Plan Rows']];
  const isMisjudged = Math.max(rows, 1) > 10 * Math.max(expected, 1) || expected > 10 * Math.max(rows, 1);
  const removed = node['Rows Removed by Filter'] ?? 0;
  const written = node['Temp Written Blocks'] ?? 0;
  const parts = [
    `${numberText(rows)} rows${isMisjudged ? ` (expected ${numberText(expected)})` : ''}`,
    ...(loops > 1 ? [`${numberText(loops)} times`] : []),
    ...(removed > 0 ? [`${numberText(removed)} filtered out`] : []),
    `${numberText((node['Actual Total Time'] ?? 0) * loops)} ms`,
    `${numberText(touched(node))} pages`,
    ...((node['Shared Read Blocks'] ?? 0) > 0
      ? [`${numberText(node['Shared Read Blocks'] ?? 0)} of them read`]
      : []),
    ...(written > 0 ? [`${numberText(written)} temporary pages written`] : []),
  ];
  return `${name}: ${parts.join(', ')}`;
};

const linesOf = (node: PlanNode, depth = 0): readonly string[] => [
  `${'  '.repeat(depth)}${nodeText(node)}`,
  ...(node.Plans ?? [])
    .filter((below) => below['Actual Loops'] > 0)
    .flatMap((below) => linesOf(below, depth + 1)),
];

/** What a plan did, without costs, conditions and what was never executed; times and pages of a node include those of the nodes below it. */
export const planLines = (plan: PlanNode): readonly string[] => {
  const lines = linesOf(plan);
  const left = lines.length - NODES_MAX;
  return left > 1 ? [...lines.slice(0, NODES_MAX), `and ${left} nodes more`] : lines;
};

const summed = (executions: readonly Execution[]): number => executions.reduce((sum, { ms }) => sum + ms, 0);

const statementOf = (text: string, executions: readonly Execution[]): StatementPlans | undefined => {
  const median = executions.toSorted((a, b) => a.ms - b.ms)[Math.floor(executions.length / 2)];
  const largest = executions.toSorted((a, b) => touched(b.plan) - touched(a.plan))[0];
  if (median === undefined || largest === undefined) return undefined;
  const isLarger = touched(largest.plan) > 2 * touched(median.plan);
  return {
    text: shortened(text),
    executions: executions.length,
    medianMs: median.ms,
    totalMs: summed(executions),
    plan: planLines(median.plan),
    ...(isLarger && { largestPlan: planLines(largest.plan) }),
  };
};

const grouped = (
  executions: readonly Execution[],
  key: 'database' | 'text',
): ReadonlyMap<string, readonly Execution[]> => {
  const groups = new Map<string, Execution[]>();
  for (const execution of executions) {
    const group = groups.get(execution[key]);
    if (group === undefined) groups.set(execution[key], [execution]);
    else group.push(execution);
  }
  return groups;
};

/** By database, those statements of which all executions together took longest. */
export const statementsOf = (
  executions: readonly Execution[],
): ReadonlyMap<string, readonly StatementPlans[]> =>
  new Map(
    [...grouped(executions, 'database')].map(([database, ofDatabase]) => [
      database,
      [...grouped(ofDatabase, 'text')]
        .flatMap(([text, ofText]) => statementOf(text, ofText) ?? [])
        .toSorted((a, b) => b.totalMs - a.totalMs)
        .slice(0, STATEMENTS_MAX),
    ]),
  );

/** Of a statement's text as it was sent: what is not told apart by its line breaks. */
export const statementText = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

const statementSection = ({ text, executions, medianMs, totalMs, ...plans }: StatementPlans): string =>
  [
    ...(text.match(TEXT_LINE) ?? [text]).map((line) => line.trim()),
    `-- ${executions.toLocaleString('en')} executions, median ${numberText(medianMs)} ms, together ${numberText(totalMs)} ms`,
    ...plans.plan.map((line) => `  ${line}`),
    ...(plans.largestPlan === undefined
      ? []
      : ['-- the one that touched most pages', ...plans.largestPlan.map((line) => `  ${line}`)]),
  ].join('\n');

/** The statements of one database, as a block of text. */
export const databaseText = ({ tables, statements }: DatabasePlans): string =>
  [
    `Largest tables: ${tables.map(({ name, rows }) => `\`${name}\` ${rows.toLocaleString('en')} rows`).join(', ') || 'none'}.`,
    '',
    '```text',
    statements.map(statementSection).join('\n\n'),
    '```',
  ].join('\n');
