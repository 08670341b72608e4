import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { createBenchDatabase, openPostgres, runSql, type BenchPostgres } from '../bench/bench-database.ts';
import type { PlanFigures } from '../bench/figures/plans.ts';
import { forgetPlans, planLogSettings, takePlans, recordMeasurementTimes } from '../bench/plan-log.ts';
import { until } from '../support/until.ts';

describe('the plans of a benchmark run', () => {
  let postgres: BenchPostgres;
  let url: string;
  beforeAll(async () => {
    postgres = await openPostgres(planLogSettings(0.1));
    ({ url } = await createBenchDatabase(postgres.url));
    await runSql(
      url,
      'create table things (id int primary key, name text)',
      "insert into things select n, 'thing ' || n from generate_series(1, 5000) n",
      'analyze things',
      `create function name_of(wanted int) returns text language plpgsql as $$
       begin return (select name from things where id = wanted); end $$`,
    );
    await forgetPlans(postgres.url);
  }, 180_000);
  afterAll(() => postgres.stop());

  const execute = async (name: string, ...statements: readonly string[]): Promise<void> => {
    const client = new Client({ connectionString: url, application_name: name });
    await client.connect();
    for (const statement of statements) await client.query(statement);
    await client.end();
  };
  const statementsIn = ({ databases }: PlanFigures) => databases.flatMap(({ statements }) => statements);

  test('contain the statements of the named connections during our measurements, also inside functions, with the work of each node', async () => {
    const times = recordMeasurementTimes();
    await execute('exchange', 'select count(*) from things as set_up');
    await times.begin();
    await execute('', 'select count(*) from things as of_a_peer');
    const asked = 'select name\n  from things where id = 42';
    await execute('exchange', asked, asked, 'select name_of(7)', 'select count(*) from things');
    await times.end();
    await execute('exchange', 'select count(*) from things as afterwards');
    // Postgres writes its log and its row counts with a delay.
    let plans = await takePlans(postgres.url, 'the run', times.ranges);
    await until(async () => {
      plans = await takePlans(postgres.url, 'the run', times.ranges);
      return statementsIn(plans).length === 4;
    });

    expect(plans.run).toBe('the run');
    expect(plans.databases.map(({ tables }) => tables)).toEqual([[{ name: 'things', rows: 5000 }]]);
    const texts = statementsIn(plans).map(({ text }) => text);
    expect(texts).toContain('select name_of(7)');
    expect(texts.join()).not.toMatch(/of_a_peer|set_up|afterwards/);
    const byKey = statementsIn(plans).find(({ text }) => text === 'select name from things where id = 42');
    expect(byKey).toMatchObject({ executions: 2 });
    expect(byKey?.plan).toEqual([
      expect.stringMatching(/^Index Scan by things_pkey on things: 1 rows, [\d.]+ ms, 3 pages/),
    ]);
    const nested = statementsIn(plans).find(({ text }) => text.includes('where id = wanted'));
    expect(nested?.plan.join('\n')).toContain('by things_pkey on things');
    const counted = statementsIn(plans).find(({ text }) => text === 'select count(*) from things');
    expect(counted?.plan[1]).toMatch(/^ {2}Seq Scan on things: 5,000 rows, /);
  });
});
