import { TextField, WriteForm } from '../pieces/form.tsx';
import { advertiserPath } from './syndicated.ts';

interface Props {
  readonly advertiserId: number;
  readonly onDone: () => void;
}

export const NewEventSource = ({ advertiserId, onDone }: Props) => (
  <WriteForm
    submit="Create"
    requestOf={({ id, name = '' }) => ({
      method: 'POST',
      path: `${advertiserPath(advertiserId)}/event-sources/sync`,
      body: {
        account: { account_id: String(advertiserId) },
        event_sources: [{ event_source_id: id, ...(name === '' ? {} : { name }) }],
      },
    })}
    touches={[advertiserPath(advertiserId)]}
    onDone={onDone}
  >
    <TextField
      name="id"
      label="Id"
      required
      maxLength={256}
      data-autofocus
      autoComplete="off"
      placeholder="web-shop"
      description="Your name for it. Programs send events to this id."
    />
    <TextField name="name" label="Name" maxLength={255} placeholder="Web shop" />
  </WriteForm>
);
