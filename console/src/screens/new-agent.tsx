import { BUYER } from '../api/query.ts';
import type { Agent } from '../api/types.ts';
import { SelectField, TextField, WriteForm } from '../pieces/form.tsx';

export const NewAgent = ({ onDone }: { readonly onDone: () => void }) => (
  <WriteForm<Agent>
    submit="Register"
    requestOf={({ name, url, protocol, accountId = '', token = '' }) => ({
      method: 'POST',
      path: `${BUYER}/adcp-agents`,
      body: {
        name,
        url,
        protocol,
        ...(accountId === '' ? {} : { accountId }),
        ...(token === '' ? {} : { auth: { type: 'bearer', token } }),
      },
    })}
    onDone={onDone}
  >
    <TextField name="name" label="Name" required maxLength={255} data-autofocus autoComplete="off" />
    <TextField name="url" label="Address" type="url" required placeholder="https://agent.example/mcp" />
    <SelectField name="protocol" label="Protocol" data={['MCP', 'A2A']} />
    <TextField
      name="accountId"
      label="Your account there"
      autoComplete="off"
      description="Empty: the agent knows you by the domain of the advertiser's brand."
    />
    <TextField
      name="token"
      label="Bearer token"
      type="password"
      autoComplete="off"
      description="Stored encrypted, and never shown again."
    />
  </WriteForm>
);
