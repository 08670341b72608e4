import { Table, Text } from '@mantine/core';
import type { Change } from '../api/types.ts';
import classes from './pieces.module.css';
import { Value } from './value.tsx';

/** `/budget/total` as `budget.total` */
export const memberName = (pointer: string): string =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.') || 'everything';

interface Actor {
  readonly actorOrigin: string;
  readonly actor: string;
  readonly userId?: string;
  readonly userEmail?: string;
}

const origins: Readonly<Record<string, string>> = {
  API_KEY: 'with an API key',
  SESSION: 'in a browser',
  OAUTH: 'through a connected app',
  MCP: 'through an agent (MCP)',
  USER: 'at the sign-in',
  INVITATION: 'by an invitation',
  UPLOAD: 'by an upload',
  WORKER: 'the service itself',
  OPERATOR: 'the operator',
};

/** Who did it, and how. */
export const Who = ({ of: { actorOrigin, actor, userId, userEmail } }: { readonly of: Actor }) => {
  const how = origins[actorOrigin] ?? actorOrigin;
  const who = userEmail ?? (userId === undefined ? undefined : `user ${userId}`);
  return <span title={actor}>{who === undefined ? how : `${who}, ${how}`}</span>;
};

/** They change with every revision. */
const always = new Set(['/revision', '/updatedAt']);

export const Changes = ({ changes: all }: { readonly changes: readonly Change[] }) => {
  const changes = all.filter(({ path }) => !always.has(path));
  if (changes.length === 0) return <Text c="dimmed">No member is different.</Text>;
  return (
    <Table.ScrollContainer minWidth={0} type="native">
      <Table aria-label="Changes" layout="fixed">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Member</Table.Th>
            <Table.Th>Before</Table.Th>
            <Table.Th>After</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {changes.map(({ path, before, after }) => (
            <Table.Tr key={path}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{memberName(path)}</Table.Td>
              <Table.Td className={before === undefined ? '' : (classes.before ?? '')}>
                <Value of={before} />
              </Table.Td>
              <Table.Td className={after === undefined ? '' : (classes.after ?? '')}>
                <Value of={after} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
};
