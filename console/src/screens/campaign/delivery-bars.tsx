import { NativeSelect, Stack } from '@mantine/core';
import { useState } from 'react';
import type { DeliveryReport } from '../../api/types.ts';
import { Bars } from '../../pieces/bars.tsx';
import { metricLabels, type Metric } from './delivery-metrics.ts';

const DAY_S = 86_400;
/** Amounts may be in several currencies, ratios do not add up. */
const drawn: readonly Metric[] = ['impressions', 'clicks', 'views', 'completed_views', 'conversions'];

const secondsOf = (day: string): number => Date.parse(`${day}T00:00:00Z`) / 1_000;

/** Each day of the period. A day may have a row for each currency; one without a report has no figure. */
const daysOf = ({ period, rows }: DeliveryReport, metric: Metric) => {
  const sums = new Map<number, number>();
  for (const { dimensions, metrics } of rows) {
    const value = metrics[metric];
    if (value === undefined || dimensions.date === undefined) continue;
    const at = secondsOf(dimensions.date);
    sums.set(at, (sums.get(at) ?? 0) + value);
  }
  const times: number[] = [];
  for (let at = secondsOf(period.startDate); at <= secondsOf(period.endDate); at += DAY_S) times.push(at);
  return { times, values: times.map((at) => sums.get(at)) };
};

/** One metric by day, if the rows are days and all of them are on the page. */
export const DeliveryBars = ({ report }: { readonly report: DeliveryReport }) => {
  const [wanted, setWanted] = useState<string>();
  const { query, page, rows } = report;
  const isByDay = query.dimensions[0] === 'date' && page.returned === page.total;
  const known = drawn.filter((metric) => rows.some(({ metrics }) => metrics[metric] !== undefined));
  const metric = known.find((name) => name === wanted) ?? known[0];
  if (!isByDay || metric === undefined) return null;
  const { times, values } = daysOf(report, metric);
  const label = metricLabels[metric];
  return (
    <Stack gap="xs">
      {known.length > 1 && (
        <NativeSelect
          size="xs"
          label="Drawn"
          value={metric}
          data={known.map((name) => ({ value: name, label: metricLabels[name] }))}
          onChange={({ currentTarget }) => setWanted(currentTarget.value)}
          style={{ alignSelf: 'flex-start' }}
        />
      )}
      <Bars
        label={`${label} by day. The table below has the figures.`}
        times={times}
        series={[{ label, colour: 'indigo', values }]}
        zone="UTC"
      />
    </Stack>
  );
};
