import { Anchor, Stack } from '@mantine/core';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useRead } from '../api/query.ts';
import type { Asset } from '../api/types.ts';
import { ConfirmedWrite } from '../pieces/confirm.tsx';
import { CopyId } from '../pieces/copy-id.tsx';
import { Facts, ObjectPage } from '../pieces/object-page.tsx';
import { Time } from '../pieces/time.tsx';
import classes from './campaign.module.css';
import { bytesText, pixelsText } from './asset-text.ts';
import { advertiserPath } from './syndicated.ts';

const AssetPage = () => {
  const { advertiserId = '', id = '' } = useParams({ strict: false });
  const navigate = useNavigate();
  const path = `${advertiserPath(advertiserId)}/assets/${id}`;
  const { data, error } = useRead<Asset>(path);
  return (
    <ObjectPage
      title={data?.name ?? 'Asset'}
      about={<CopyId id={id} what="asset id" />}
      path={path}
      data={data}
      error={error}
      actions={
        data !== undefined && (
          <ConfirmedWrite
            label="Delete"
            title={`Delete ${data.name}?`}
            call={{ method: 'DELETE', path }}
            onDone={() => void navigate({ to: '/library', search: { advertiserId } })}
          >
            The file is deleted, and this cannot be undone. A file that a creative uses cannot be deleted.
          </ConfirmedWrite>
        )
      }
      tabs={
        data === undefined
          ? []
          : [{ name: 'overview', label: 'Overview', content: () => <Overview asset={data} /> }]
      }
    />
  );
};

const Overview = ({ asset }: { readonly asset: Asset }) => (
  <Stack>
    {asset.mediaKind === 'image' && (
      <img className={classes.preview ?? ''} src={asset.url} alt={asset.name} />
    )}
    <Facts
      facts={[
        [
          'File',
          <Anchor key="file" inherit href={asset.url} target="_blank" rel="noreferrer noopener">
            Open it
          </Anchor>,
        ],
        ['Kind', asset.mediaKind],
        ['Type', asset.mimeType],
        ['Size', bytesText(asset.bytes)],
        asset.width !== undefined && ['Pixels', pixelsText(asset)],
        ['Source', asset.source],
        ['Added', <Time key="created" at={asset.createdAt} />],
      ]}
    />
  </Stack>
);

export default AssetPage;
