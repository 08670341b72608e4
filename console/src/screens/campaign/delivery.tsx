import { Paper, SimpleGrid, Stack, Text } from '@mantine/core';
import type { Query } from '../../api/call.ts';
import { BUYER } from '../../api/query.ts';
import type { DeliveryReport } from '../../api/types.ts';
import { CursorTable } from '../../pieces/cursor-table.tsx';
import { Filters, type Filter } from '../../pieces/filters.tsx';
import type { Column } from '../../pieces/list-table.tsx';
import { timeColumn } from '../../pieces/time-column.tsx';
import { useUrlState, type UrlState } from '../../pieces/url-state.ts';
import { DeliveryBars } from './delivery-bars.tsx';
import {
  dimensionLabels,
  metricLabels,
  metricNames,
  metricText,
  type Dimension,
  type Metric,
  type Row,
} from './delivery-metrics.ts';

const DAY_MS = 86_400_000;
const DAYS = 7;
/** The API's largest page: 90 days are one page. */
const LIMIT = 100;

interface Props {
  readonly advertiserId: number;
  /** Undefined: all campaigns of the advertiser, and its conversions. */
  readonly campaignId?: string;
}

const filtersOf = ({ campaignId }: Props, url: UrlState): readonly Filter[] => {
  const isOfCampaign = campaignId !== undefined && url['of'] === undefined;
  return [
    ...(campaignId === undefined
      ? []
      : [
          {
            name: 'of',
            label: 'Of',
            choices: [
              ['', 'This campaign'],
              ['advertiser', 'Its advertiser, with conversions'],
            ],
          } as const,
        ]),
    {
      name: 'period',
      label: 'Period',
      choices: [
        ['', `Last ${DAYS} days`],
        ['30', 'Last 30 days'],
        ['90', 'Last 90 days'],
        ['lifetime', 'All that is kept'],
        ['dates', 'From a day to a day'],
      ],
    },
    ...(url['period'] === 'dates'
      ? ([
          { name: 'startDate', label: 'From', type: 'date' },
          { name: 'endDate', label: 'To', type: 'date' },
        ] as const)
      : []),
    {
      name: 'by',
      label: 'A row for each',
      choices: [
        ['', 'Day'],
        ['seller', 'Seller'],
        ['media_buy', 'Media buy'],
        ['date,seller', 'Day and seller'],
        ...(isOfCampaign
          ? []
          : ([
              ['campaign', 'Campaign'],
              ['event_source', 'Event source'],
            ] as const)),
      ],
    },
  ];
};

/** Days are those of UTC, as in the API. */
const periodOf = ({ period, startDate, endDate }: UrlState): Query => {
  if (period === 'lifetime') return { lifetime: true };
  if (period === 'dates') return { startDate, endDate };
  const days = Number(period ?? DAYS) || DAYS;
  return { startDate: new Date(Date.now() - (days - 1) * DAY_MS).toISOString().slice(0, 10) };
};

/** What sellers report, and conversions as the event sources received them. A metric without a report is absent. */
export const Delivery = (props: Props) => {
  const { advertiserId, campaignId } = props;
  const [url] = useUrlState();
  const isOfCampaign = campaignId !== undefined && url['of'] === undefined;
  return (
    <Stack gap="sm">
      <Filters filters={filtersOf(props, url)} />
      <CursorTable<Row>
        name="delivery"
        path={`${BUYER}/reporting/delivery`}
        query={{
          ...(isOfCampaign ? { campaignId } : { advertiserId }),
          ...periodOf(url),
          dimensions: url['by'] ?? 'date',
        }}
        limit={LIMIT}
        scrolls
        columns={(data) => columnsOf(data as DeliveryReport | undefined)}
        rowKey={({ dimensions, unassigned, currency }) => JSON.stringify([dimensions, unassigned, currency])}
        pageOf={(data) => {
          const { rows, page } = data as DeliveryReport;
          return { rows, next: page.nextCursor };
        }}
        about={(_, data) => <Report report={data as DeliveryReport} isOfCampaign={isOfCampaign} />}
        empty={
          <Text>
            Nothing was reported for these days. Sellers are asked after the first proposal request
            {isOfCampaign ? '; conversions belong to the advertiser, not to a campaign.' : '.'}
          </Text>
        }
      />
    </Stack>
  );
};

const dimensionText =
  (name: Dimension) =>
  ({ dimensions, unassigned }: Row): string | number =>
    dimensions[name] ?? (name === 'campaign' && unassigned === true ? 'not assigned' : '–');

/** Of a page: metrics that nothing reports have no column. */
const columnsOf = (report: DeliveryReport | undefined): readonly Column<Row>[] => {
  if (report === undefined) return [];
  const has = (metric: Metric): boolean =>
    [report.totals, ...report.rows].some(({ metrics }) => metrics[metric] !== undefined);
  const dimensions: readonly Dimension[] = report.query.dimensions;
  return [
    ...dimensions.map((name) => ({
      title: dimensionLabels[name],
      text: dimensionText(name),
      cell: (row: Row) => (
        <span style={name === 'date' ? { whiteSpace: 'nowrap' } : {}}>{dimensionText(name)(row)}</span>
      ),
    })),
    ...metricNames.filter(has).map((metric) => ({
      title: metricLabels[metric],
      text: ({ metrics, currency }: Row) => metricText(metric, metrics[metric], currency),
    })),
    { title: 'Currency', text: ({ currency }: Row) => currency ?? '–', wide: true },
    timeColumn('Known until', ({ dataThrough }: Row) => dataThrough),
  ];
};

interface ReportProps {
  readonly report: DeliveryReport;
  readonly isOfCampaign: boolean;
}

const Report = ({ report, isOfCampaign }: ReportProps) => {
  const { period, totals, rows } = report;
  const currencies = new Set(rows.flatMap(({ currency }) => currency ?? []));
  const known = metricNames.filter((metric) => totals.metrics[metric] !== undefined);
  return (
    <Stack gap="sm">
      <Text size="sm" c="dimmed">
        {period.startDate} to {period.endDate}, days of UTC.
        {isOfCampaign && ' Conversions belong to no campaign: they are in the report of the advertiser.'}
      </Text>
      {known.length > 0 && (
        <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} component="dl" aria-label="Sums" m={0}>
          {known.map((metric) => (
            <Paper key={metric} withBorder p="sm">
              <Text size="sm" c="dimmed" component="dt">
                {metricLabels[metric]}
              </Text>
              <Text fw={600} component="dd" m={0}>
                {metricText(metric, totals.metrics[metric], totals.currency)}
              </Text>
            </Paper>
          ))}
        </SimpleGrid>
      )}
      {currencies.size > 1 && (
        <Text size="sm">Amounts are in several currencies, which are never added up: see the rows.</Text>
      )}
      <DeliveryBars report={report} />
    </Stack>
  );
};
