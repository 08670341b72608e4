import { NativeSelect, Paper, Skeleton, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { BUYER, useRead } from '../api/query.ts';
import type { Advertiser } from '../api/types.ts';
import { Go } from './go.tsx';
import { Problem } from './problem.tsx';
import { useUrlState } from './url-state.ts';

/** Chooses the advertiser whose part of the data a screen shows; it stands in the address as `advertiserId`. */
export const AdvertiserChoice = ({
  children,
}: {
  readonly children: (advertiser: Advertiser) => ReactNode;
}) => {
  const [url, change] = useUrlState();
  const { data: listed, error } = useRead<readonly Advertiser[]>(`${BUYER}/advertisers`, { take: 200 });
  const wanted = url['advertiserId'];
  const isListed = wanted === undefined || listed?.some(({ id }) => String(id) === wanted) !== false;
  // An archived one is in no list, but links of the audit log name it.
  const other = useRead<Advertiser>(`${BUYER}/advertisers/${wanted ?? ''}`, {}, { enabled: !isListed });
  if (listed === undefined || (!isListed && other.isPending))
    return error === null ? <Skeleton height={120} /> : <Problem error={error} />;
  // Its own page may have read a listed one before.
  const advertisers = isListed || other.data === undefined ? listed : [...listed, other.data];
  const chosen = wanted === undefined ? advertisers[0] : advertisers.find(({ id }) => String(id) === wanted);
  if (chosen === undefined && wanted !== undefined) {
    return (
      <>
        <Problem error={other.error} />
        <Text>
          The address names an advertiser that is not there. <Go to=".">Show the newest one.</Go>
        </Text>
      </>
    );
  }
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
