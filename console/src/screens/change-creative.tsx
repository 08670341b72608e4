import { Skeleton, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { BUYER, useRead } from '../api/query.ts';
import type { Asset, Creative } from '../api/types.ts';
import { shortened } from '../pieces/copy-id.tsx';
import { useFormBase } from '../pieces/form-base.tsx';
import { AreaField, SelectField, TextField, WriteForm } from '../pieces/form.tsx';
import { Problem } from '../pieces/problem.tsx';

interface Props {
  readonly creativeId: string;
  /** Undefined: it is in no campaign, through which the API changes it. */
  readonly campaignId: string | undefined;
}

/** What completes a draft. Trackers, cards and tags are set by programs. */
export const ChangeCreative = ({ creativeId, campaignId }: Props) => {
  const path = `${BUYER}/campaigns/${campaignId ?? ''}/creatives/${creativeId}`;
  const { data, error } = useRead<Creative>(path, {}, { enabled: campaignId !== undefined });
  const { data: assets } = useRead<readonly Asset[]>(
    `${BUYER}/advertisers/${data?.advertiserId ?? ''}/assets`,
    { take: 200 },
    { enabled: data !== undefined },
  );
  if (campaignId === undefined) return <Text>It is in no campaign: programs change it in the library.</Text>;
  if (data === undefined || assets === undefined)
    return error === null ? <Skeleton height={200} /> : <Problem error={error} />;
  return <Fields creative={data} assets={assets} path={path} />;
};

interface FieldsProps {
  readonly creative: Creative;
  readonly assets: readonly Asset[];
  readonly path: string;
}

const Fields = ({ creative: present, assets, path }: FieldsProps) => {
  const { base: creative, formKey, notice, onSaved } = useFormBase(present);
  const { slots, copy, revision } = creative;
  const slot = slots.find(({ kind }) => kind === 'asset');
  const chosen = slot?.assetId ?? '';
  const isListed = chosen === '' || assets.some(({ id }) => id === chosen);
  return (
    <>
      {notice}
      <WriteForm<Creative>
        key={formKey}
        submit="Save"
        requestOf={({ name, assetId = '', headline = '', clickUrl = '', message = '' }) => ({
          method: 'PUT',
          path,
          body: {
            name,
            slots: withAsset(slots, slot, assetId),
            copy: headline === '' ? withoutHeadline(copy) : { ...copy, headline },
            clickUrl: clickUrl === '' ? null : clickUrl,
            message: message === '' ? null : message,
            expectedRevision: revision,
          },
        })}
        onDone={({ data }) => {
          onSaved(data);
          notifications.show({ message: 'Saved. The history has what changed.' });
        }}
      >
        <TextField name="name" label="Name" required maxLength={255} defaultValue={creative.name} />
        <SelectField
          name="assetId"
          label="Asset"
          description="From the library of the advertiser."
          defaultValue={chosen}
          data={[
            { value: '', label: 'none' },
            // The list has the newest assets alone. Without its own, the form would save none.
            ...(isListed ? [] : [{ value: chosen, label: shortened(chosen) }]),
            ...assets.map(({ id, name }) => ({ value: id, label: name })),
          ]}
        />
        <TextField name="headline" label="Headline" maxLength={2_000} defaultValue={copy['headline'] ?? ''} />
        <TextField
          name="clickUrl"
          label="Address behind a click"
          type="url"
          placeholder="https://acme.example"
          defaultValue={creative.clickUrl ?? ''}
        />
        <AreaField name="message" label="Message" maxLength={5_000} defaultValue={creative.message ?? ''} />
      </WriteForm>
    </>
  );
};

type Slots = Creative['slots'];

/** A slot without an asset stays: a creative without its slots could count as complete. */
const withAsset = (slots: Slots, slot: Slots[number] | undefined, assetId: string): Slots => {
  if (slot === undefined)
    return assetId === '' ? slots : [...slots, { slotId: 'main', kind: 'asset', assetId }];
  const { assetId: _, ...empty } = slot;
  return slots.map((one) => (one !== slot ? one : assetId === '' ? empty : { ...slot, assetId }));
};

const withoutHeadline = (copy: Creative['copy']): Creative['copy'] =>
  Object.fromEntries(Object.entries(copy).filter(([name]) => name !== 'headline'));
