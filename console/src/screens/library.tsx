import { Text } from '@mantine/core';
import { BUYER } from '../api/query.ts';
import type { Asset } from '../api/types.ts';
import { AdvertiserChoice } from '../pieces/advertiser-choice.tsx';
import { CopyId } from '../pieces/copy-id.tsx';
import { Go } from '../pieces/go.tsx';
import { ListTable, type Column } from '../pieces/list-table.tsx';
import { Page } from '../pieces/page.tsx';
import { timeColumn } from '../pieces/time-column.tsx';
import { bytesText, pixelsText } from './asset-text.ts';
import classes from './campaign.module.css';
import { Uploads } from './uploads.tsx';

const columns: readonly Column<Asset>[] = [
  {
    title: 'Preview',
    text: ({ url }) => url,
    cell: ({ mediaKind, url }) =>
      mediaKind === 'image' ? (
        <img className={classes.thumb ?? ''} src={url} alt="" loading="lazy" />
      ) : (
        <Text size="sm">{mediaKind}</Text>
      ),
  },
  {
    title: 'Name',
    text: ({ name }) => name,
    cell: ({ id, advertiserId, name }) => <Go to={`/assets/${advertiserId}/${id}`}>{name}</Go>,
  },
  { title: 'Size', text: ({ bytes }) => bytes, cell: ({ bytes }) => bytesText(bytes) },
  { title: 'Pixels', text: pixelsText, wide: true },
  { title: 'Type', text: ({ mimeType }) => mimeType, wide: true },
  {
    title: 'Id',
    text: ({ id }) => id,
    cell: ({ id }) => <CopyId id={id} what="asset id" short />,
    wide: true,
  },
  timeColumn('Added', ({ createdAt }) => createdAt),
];

const kinds = ['image', 'video', 'audio', 'html', 'text', 'document', 'other'];
const filters = [
  { name: 'search', label: 'Name' },
  { name: 'mediaKind', label: 'Kind', choices: [['', 'All'], ...kinds.map((kind) => [kind, kind] as const)] },
] as const;

const Library = () => (
  <Page title="Library" about="Images, videos and other files, for the creatives of an advertiser.">
    <AdvertiserChoice>
      {({ id }) => (
        <>
          <Uploads key={id} advertiserId={id} />
          <ListTable<Asset>
            name="assets"
            path={`${BUYER}/advertisers/${id}/assets`}
            columns={columns}
            rowKey={(asset) => asset.id}
            filters={filters}
            empty={<Text>The library is empty. Drop files above, or choose them.</Text>}
          />
        </>
      )}
    </AdvertiserChoice>
  </Page>
);

export default Library;
