/** Statements that Postgres executed for the service in a scenario, with their plans. */
export interface PlanFigures {
  /** The key of the run. */
  readonly run: string;
  readonly databases: readonly DatabasePlans[];
}

export interface DatabasePlans {
  /** The largest tables at the end of the scenario, the largest first. */
  readonly tables: readonly { readonly name: string; readonly rows: number }[];
  /** The statements with the longest total time. */
  readonly statements: readonly StatementPlans[];
}

export interface StatementPlans {
  /** The beginning and the end, without line breaks. */
  readonly text: string;
  readonly executions: number;
  readonly medianMs: number;
  readonly totalMs: number;
  /** The execution with the median time: one line for each node, indented below its parent. */
  readonly plan: readonly string[];
  /** The execution that touched most pages, if it touched more than twice as many. */
  readonly largestPlan?: readonly string[];
}

/** A node of `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)`: only the members shown. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly Operation?: string;
  readonly 'Index Name'?: string;
  readonly 'Relation Name'?: string;
  readonly 'Function Name'?: string;
  readonly 'CTE Name'?: string;
  readonly 'Subplan Name'?: string;
  readonly 'Plan Rows': number;
  /** Per loop, like the milliseconds. */
  readonly 'Actual Rows': number;
  readonly 'Actual Total Time'?: number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
  readonly 'Temp Written Blocks'?: number;
  readonly Plans?: readonly PlanNode[];
}

export interface Execution {
  readonly database: string;
  readonly text: string;
  readonly ms: number;
  readonly plan: PlanNode;
}

/** Lists of one read model have the same beginning. They differ in their conditions at the end. */
const [BEGINNING_CHARS, END_CHARS] = [200, 600];
const TEXT_LINE = /.{1,118}(?:\s|$)/g;
const NODES_MAX = 30;
const STATEMENTS_MAX = 6;

const shortened = (text: string): string =>
  text.length > BEGINNING_CHARS + END_CHARS
    ? `${text.slice(0, BEGINNING_CHARS)} … ${text.slice(-END_CHARS)}`
    : text;

/** Whole numbers from 10 on: more digits would be noise. */
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

/**
 * The nodes of a plan, without costs, conditions and nodes that were never executed. Times and pages of a node include
 * its children.
 */
export const planLines = (plan: PlanNode): readonly string[] => {
  const lines = linesOf(plan);
  const left = lines.length - NODES_MAX;
  return left > 1 ? [...lines.slice(0, NODES_MAX), `and ${left} more nodes`] : lines;
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

/** For each database, the statements with the longest total time. */
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

/** Normalizes white space, which does not distinguish statements. */
export const statementText = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

const statementSection = ({ text, executions, medianMs, totalMs, ...plans }: StatementPlans): string =>
  [
    ...(text.match(TEXT_LINE) ?? [text]).map((line) => line.trim()),
    `-- ${executions.toLocaleString('en')} executions, median ${numberText(medianMs)} ms, total ${numberText(totalMs)} ms`,
    ...plans.plan.map((line) => `  ${line}`),
    ...(plans.largestPlan === undefined
      ? []
      : ['-- the execution that touched most pages', ...plans.largestPlan.map((line) => `  ${line}`)]),
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
