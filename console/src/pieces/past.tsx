import { Group, NativeSelect, Skeleton, Stack, Table, Text } from '@mantine/core';
import { useRead } from '../api/query.ts';
import type { Difference, Explanation, HistoryEvent } from '../api/types.ts';
import { Changes, memberName, Who } from './changes.tsx';
import { CopyId } from './copy-id.tsx';
import type { HistoryPlace } from './history.tsx';
import { JsonAndCurl } from './json.tsx';
import { Problem } from './problem.tsx';
import { Time, timeText } from './time.tsx';
import { useUrlState } from './url-state.ts';
import { Value } from './value.tsx';

interface ComparedProps {
  readonly place: HistoryPlace;
  readonly events: readonly HistoryEvent[];
  readonly to: number;
}

/** Two revisions beside each other: the chosen one, and one that is chosen here. */
export const Compared = ({ place, events, to }: ComparedProps) => {
  const [url, change] = useUrlState();
  const from = url['from'] ?? String(Math.max(0, to - 1));
  const { data, error } = useRead<Difference>(`${place.path}/diff`, { ...place.query, from, to });
  const choices = [
    { value: '0', label: 'before it existed' },
    ...events.map(({ revision, type, timestamp }) => ({
      value: String(revision),
      label: `${revision}: ${type}, ${timeText(timestamp)}`,
    })),
  ];
  return (
    <Stack>
      <Group align="flex-end">
        <NativeSelect
          label="Compare revision"
          value={from}
          data={choices}
          onChange={({ currentTarget }) => change({ from: currentTarget.value })}
        />
        <Text pb={6}>with revision {to}</Text>
      </Group>
      <Problem error={error} />
      {data !== undefined && <Changes changes={data.changes} />}
    </Stack>
  );
};

interface AsItWasProps {
  readonly place: HistoryPlace;
  readonly statePath: string;
  readonly revision: number;
}

export const AsItWas = ({ place, statePath, revision }: AsItWasProps) => {
  const query = { ...place.query, asOf: revision };
  const { data, error } = useRead<unknown>(statePath, query);
  if (error !== null) return <Problem error={error} />;
  return data === undefined ? (
    <Skeleton height={120} />
  ) : (
    <JsonAndCurl data={data} path={statePath} query={query} />
  );
};

interface ExplainedProps {
  readonly place: HistoryPlace;
  readonly revision: number;
}

/** For every value: what set it, who, when, and by which request. */
export const Explained = ({ place, revision }: ExplainedProps) => {
  const { data, error } = useRead<Explanation>(`${place.path}/explain`, { ...place.query, asOf: revision });
  const [, change] = useUrlState();
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return <Skeleton height={120} />;
  return (
    <Table.ScrollContainer minWidth={0} type="native">
      <Table aria-label="Values and what set them">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Member</Table.Th>
            <Table.Th>Value</Table.Th>
            <Table.Th>Set by</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {data.members.map(({ path, value, setBy }) => (
            <Table.Tr key={path}>
              <Table.Td>{memberName(path)}</Table.Td>
              <Table.Td>
                <Value of={value} />
              </Table.Td>
              <Table.Td>
                <Text size="sm" component="div">
                  <a
                    href="#"
                    onClick={(event) => {
                      event.preventDefault();
                      change({ revision: String(setBy.revision), view: undefined });
                    }}
                  >
                    {setBy.type}, revision {setBy.revision}
                  </a>
                  <br />
                  <Time at={setBy.timestamp} /> · <Who of={setBy} />
                  <br />
                  Request <CopyId id={setBy.requestId} what="request id" short />
                </Text>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
};
