import { NativeSelect, Paper, Skeleton, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { BUYER, useRead } from '../api/query.ts';
import type { Advertiser } from '../api/types.ts';
import { Go } from './go.tsx';
import { useUrlState } from './url-state.ts';

/** Chooses the advertiser whose part of the data a screen shows; it stands in the address as `advertiserId`. */
export const AdvertiserChoice = ({
  children,
}: {
  readonly children: (advertiser: Advertiser) => ReactNode;
}) => {
  const [url, change] = useUrlState();
  const { data: advertisers } = useRead<readonly Advertiser[]>(`${BUYER}/advertisers`, { take: 200 });
  if (advertisers === undefined) return <Skeleton height={120} />;
  const chosen = advertisers.find(({ id }) => String(id) === url['advertiserId']) ?? advertisers[0];
  if (chosen === undefined) {
    return (
      <Paper withBorder p="lg">
        <Text>
          All of this belongs to an advertiser. <Go to="/advertisers">Create the first one.</Go>
        </Text>
      </Paper>
    );
  }
  return (
    <>
      <NativeSelect
        label="Advertiser"
        maw={320}
        value={String(chosen.id)}
        data={advertisers.map(({ id, name }) => ({ value: String(id), label: name }))}
        onChange={({ currentTarget }) => change({ advertiserId: currentTarget.value, page: undefined })}
      />
      {children(chosen)}
    </>
  );
};
