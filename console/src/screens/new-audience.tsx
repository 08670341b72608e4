import { notifications } from '@mantine/notifications';
import { AreaField, TextField, WriteForm } from '../pieces/form.tsx';
import { advertiserPath } from './syndicated.ts';

const hashOf = async (address: string): Promise<string> => {
  const bytes = new TextEncoder().encode(address.trim().toLowerCase());
  return [...new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
};

interface Props {
  readonly advertiserId: number;
  readonly onDone: () => void;
}

/** Addresses are hashed in the browser: the service gets the hashes only. */
export const NewAudience = ({ advertiserId, onDone }: Props) => (
  <WriteForm
    submit="Create"
    requestOf={async ({ audienceId, name = '', addresses = '' }) => {
      const given = addresses.split(/[\s,;]+/).filter((address) => address !== '');
      const add = await Promise.all(given.map(async (address) => ({ hashedEmail: await hashOf(address) })));
      return {
        method: 'POST',
        path: `${advertiserPath(advertiserId)}/audiences/sync`,
        body: { audiences: [{ audienceId, ...(name === '' ? {} : { name }), add }] },
      };
    }}
    touches={[advertiserPath(advertiserId)]}
    onDone={() => {
      notifications.show({ message: 'Created. Switch it on for an agent to send it.' });
      onDone();
    }}
  >
    <TextField
      name="audienceId"
      label="Id"
      required
      maxLength={256}
      data-autofocus
      autoComplete="off"
      placeholder="customers"
      description="Your name for it, in your systems."
    />
    <TextField name="name" label="Name" maxLength={255} placeholder="Customers" />
    <AreaField
      name="addresses"
      label="E-mail addresses"
      description="Hashed (SHA-256) in this page: the addresses themselves are not sent."
    />
  </WriteForm>
);
