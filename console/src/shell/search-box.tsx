import { Spotlight, type SpotlightActionGroupData } from '@mantine/spotlight';
import { useDebouncedValue } from '@mantine/hooks';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { BUYER, useRead } from '../api/query.ts';
import type { Advertiser, Campaign } from '../api/types.ts';
import { screens } from './screens.ts';

const HITS_MAX = 8;

/** Ids that name their page. Those of other resources also need an advertiser. */
const pagesOfIds = [
  [/^\d+$/, '/advertisers', 'Open this advertiser'],
  [/^cmp_\w+$/, '/campaigns', 'Open this campaign'],
  [/^agt_\w+$/, '/agents', 'Open this agent'],
  [/^cre_\w+$/, '/creatives', 'Open this creative'],
  [/^whs_\w+$/, '/webhooks', 'Open this webhook'],
  [/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/, '/requests', 'What this request caused'],
] as const;

/** Ctrl K: pages, advertisers and campaigns by name, and anything by its id. */
export const SearchBox = () => {
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const [wanted] = useDebouncedValue(text.trim(), 250);
  const enabled = wanted.length > 1;
  const { data: advertisers = [] } = useRead<readonly Advertiser[]>(
    `${BUYER}/advertisers`,
    { name: wanted, take: HITS_MAX },
    { enabled },
  );
  const { data: campaigns = [] } = useRead<readonly Campaign[]>(
    `${BUYER}/campaigns`,
    { take: 200 },
    { enabled },
  );
  const action = (id: string, label: string, description?: string) => ({
    id,
    label,
    ...(description === undefined ? {} : { description }),
    onClick: () => void navigate({ to: id }),
  });
  const has = (name: string): boolean => name.toLowerCase().includes(wanted.toLowerCase());
  const found: SpotlightActionGroupData[] = [
    {
      group: 'Pages',
      actions: screens.flatMap(({ path, label }) =>
        label === undefined || (text !== '' && !has(label)) ? [] : [action(path, label)],
      ),
    },
    {
      group: 'Advertisers',
      actions: enabled
        ? advertisers.map(({ id, name }) => action(`/advertisers/${id}`, name, `Advertiser ${id}`))
        : [],
    },
    {
      group: 'Campaigns',
      actions: enabled
        ? campaigns
            .filter(({ id, name }) => has(name) || id === wanted)
            .slice(0, HITS_MAX)
            .map(({ id, name, phase }) => action(`/campaigns/${id}`, name, phase))
        : [],
    },
    {
      group: 'Ids',
      actions: pagesOfIds
        .filter(([pattern]) => pattern.test(wanted))
        .map(([, path, what]) => action(`${path}/${wanted}`, wanted, what)),
    },
  ];
  return (
    <Spotlight
      actions={found.filter(({ actions }) => actions.length > 0)}
      filter={(_, actions) => actions}
      query={text}
      onQueryChange={setText}
      nothingFound="Nothing found"
      searchProps={{ placeholder: 'Pages, names, ids', 'aria-label': 'Search' }}
      shortcut={['mod + K', '/']}
      scrollable
      maxHeight={400}
    />
  );
};
