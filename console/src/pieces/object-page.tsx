import { Skeleton, Tabs } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Query } from '../api/call.ts';
import { History } from './history.tsx';
import { JsonAndCurl } from './json.tsx';
import { Page } from './page.tsx';
import { Problem } from './problem.tsx';
import classes from './pieces.module.css';
import { useUrlState } from './url-state.ts';

export interface ObjectTab {
  readonly name: string;
  readonly label: string;
  readonly content: () => ReactNode;
}

interface Props {
  readonly title: string;
  readonly mark?: ReactNode;
  readonly about?: ReactNode;
  readonly actions?: ReactNode;
  /** The path that reads it: `history`, `diff` and `explain` are below it. */
  readonly path: string;
  readonly query?: Query;
  /** Its answer; undefined while it is read. */
  readonly data: unknown;
  readonly error?: unknown;
  /** Where its history is, if not below `path`. */
  readonly historyPath?: string;
  /** Sent to it. Default: `query` */
  readonly historyQuery?: Query;
  /** False if the API has no `asOf` of one such object. */
  readonly hasAsOf?: boolean;
  /** False if this person may not read it. */
  readonly hasHistory?: boolean;
  /** Before History and JSON. */
  readonly tabs: readonly ObjectTab[];
}

/** An object of the API: what it is, everything that has happened to it, and how a program reads it. */
export const ObjectPage = (props: Props) => {
  const { title, mark, about, actions, path, query, data, error, historyPath, hasAsOf, tabs } = props;
  const [url, change] = useUrlState();
  const { hasHistory = true, historyQuery = query } = props;
  const history: ObjectTab = {
    name: 'history',
    label: 'History',
    content: () => (
      <History
        path={historyPath ?? path}
        {...(historyQuery === undefined ? {} : { query: historyQuery })}
        {...(hasAsOf === false ? {} : { statePath: path })}
      />
    ),
  };
  const all: readonly ObjectTab[] = [
    ...tabs,
    ...(hasHistory ? [history] : []),
    {
      name: 'json',
      label: 'JSON',
      content: () => <JsonAndCurl data={data} path={path} {...(query === undefined ? {} : { query })} />,
    },
  ];
  const [first] = all;
  const shown = all.find(({ name }) => name === url['tab']) ?? first;
  return (
    <Page title={title} mark={mark} about={about} {...(actions === undefined ? {} : { actions })}>
      <Problem error={error} />
      {data === undefined && !error && <Skeleton height={200} />}
      {data !== undefined && (
        <Tabs
          value={shown?.name ?? null}
          onChange={(name) =>
            change({
              tab: name === first?.name ? undefined : (name ?? undefined),
              page: undefined,
              cursor: undefined,
            })
          }
          keepMounted={false}
        >
          <Tabs.List mb="md">
            {all.map(({ name, label }) => (
              <Tabs.Tab key={name} value={name}>
                {label}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {all.map(({ name, content }) => (
            <Tabs.Panel key={name} value={name}>
              {name === shown?.name && content()}
            </Tabs.Panel>
          ))}
        </Tabs>
      )}
    </Page>
  );
};

export type Fact = readonly [name: string, value: ReactNode];

export const Facts = ({ facts }: { readonly facts: readonly (Fact | undefined | false)[] }) => (
  <dl className={classes.facts ?? ''}>
    {facts
      .filter((fact): fact is Fact => Array.isArray(fact))
      .map(([name, value]) => (
        <div key={name} style={{ display: 'contents' }}>
          <dt>{name}</dt>
          <dd>{value ?? '–'}</dd>
        </div>
      ))}
  </dl>
);
