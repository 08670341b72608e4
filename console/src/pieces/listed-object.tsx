import { Text } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Query } from '../api/call.ts';
import { useRead } from '../api/query.ts';
import { useUser } from '../shell/session.tsx';
import { CopyId } from './copy-id.tsx';
import { Facts, ObjectPage, type Fact } from './object-page.tsx';

interface Props<Item> {
  /** e.g. `API key` */
  readonly noun: string;
  /** The API has no read of one such object: it is found in its list. */
  readonly listPath: string;
  readonly query?: Query;
  readonly itemsOf?: (data: unknown) => readonly Item[];
  readonly idOf: (item: Item) => string;
  readonly historyPath: (id: string) => string;
  /** Its history is not for admins only. */
  readonly isForAll?: true;
  readonly titleOf: (item: Item) => string;
  readonly mark?: (item: Item) => ReactNode;
  readonly facts: (item: Item) => readonly (Fact | undefined | false)[];
  readonly actions?: (item: Item) => ReactNode;
}

/** One object of a list of the account, by the id in the address. Its history stays when it is gone. */
export const ListedObject = <Item,>(props: Props<Item>) => {
  const { noun, listPath, query = { take: 200 }, idOf, historyPath, titleOf, mark, facts, actions } = props;
  const itemsOf = props.itemsOf ?? ((data: unknown) => data as readonly Item[]);
  const { id = '' } = useParams({ strict: false });
  const { role } = useUser();
  const { data, error } = useRead<unknown>(listPath, query);
  const item = data === undefined ? undefined : itemsOf(data).find((one) => idOf(one) === id);
  return (
    <ObjectPage
      title={item === undefined ? noun : titleOf(item)}
      mark={item === undefined ? undefined : mark?.(item)}
      about={<CopyId id={id} what={`${noun} id`} />}
      path={listPath}
      query={query}
      data={data === undefined ? undefined : (item ?? null)}
      error={error}
      historyPath={historyPath(id)}
      historyQuery={{}}
      hasAsOf={false}
      hasHistory={props.isForAll === true || role === 'admin'}
      actions={item === undefined ? undefined : actions?.(item)}
      tabs={[
        {
          name: 'overview',
          label: 'Overview',
          content: () =>
            item === undefined ? (
              <Text>It is not there any more. Its history is.</Text>
            ) : (
              <Facts facts={facts(item)} />
            ),
        },
      ]}
    />
  );
};
