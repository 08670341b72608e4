import { BUYER } from '../../api/query.ts';
import type { Schema } from '../../api/schema.ts';
import { useAdvertisers } from '../../pieces/advertiser-filter.ts';
import { chosenIn, ChoicesField } from '../../pieces/choices.tsx';
import { SelectField, TextField, type Values } from '../../pieces/form.tsx';
import { EventTypesField } from './event-types.tsx';

export type Webhook = Schema<'WebhookSubscription'>;

export const WEBHOOKS = `${BUYER}/webhook-subscriptions`;

/** The members that a person may set. @param webhook its present values */
export const WebhookFields = ({ webhook }: { readonly webhook?: Webhook }) => {
  const advertisers = useAdvertisers();
  return (
    <>
      <TextField
        name="url"
        label="Address"
        type="url"
        required
        data-autofocus
        autoComplete="off"
        placeholder="https://hooks.acme.example/exchange"
        description="Events are sent there by POST, signed as Standard Webhooks."
        defaultValue={webhook?.url ?? ''}
      />
      <TextField
        name="description"
        label="Description"
        maxLength={500}
        defaultValue={webhook?.description ?? ''}
      />
      <SelectField
        name="payload"
        label="Body"
        data={[
          { value: 'thin', label: 'thin: what changed, with a link to the state' },
          { value: 'full', label: 'full: also the resource' },
        ]}
        defaultValue={webhook?.payload ?? 'thin'}
      />
      <SelectField
        name="authentication"
        label="Authentication"
        data={[
          { value: 'none', label: 'none: the signature only' },
          { value: 'bearer', label: 'bearer: also the secret in Authorization' },
        ]}
        defaultValue={webhook?.authentication ?? 'none'}
      />
      <EventTypesField defaultValue={webhook?.eventTypes ?? ['*']} />
      {advertisers.length > 0 && (
        <ChoicesField
          name="advertiserIds"
          label="Only events of these advertisers"
          description="Without any: events of the whole account."
          choices={advertisers.map(({ id, name }) => ({ value: String(id), label: name }))}
          defaultValue={(webhook?.advertiserIds ?? []).map(String)}
        />
      )}
    </>
  );
};

/** @param absent what stands for no value: undefined in a new one, null in a change */
export const webhookInput = (
  { url, description, payload, authentication, eventTypes, advertiserIds }: Values,
  absent: null | undefined,
): object => ({
  url,
  payload,
  authentication,
  description: description === '' ? absent : description,
  eventTypes: chosenIn(eventTypes),
  advertiserIds: chosenIn(advertiserIds).length === 0 ? absent : chosenIn(advertiserIds).map(Number),
});
