import { useNavigate, useParams } from '@tanstack/react-router';
import { BUYER, useRead } from '../api/query.ts';
import type { Agent } from '../api/types.ts';
import { State } from '../pieces/badge.tsx';
import { ConfirmedWrite } from '../pieces/confirm.tsx';
import { CopyId } from '../pieces/copy-id.tsx';
import { Facts, ObjectPage } from '../pieces/object-page.tsx';
import { Time } from '../pieces/time.tsx';

const AgentPage = () => {
  const { id = '' } = useParams({ strict: false });
  const navigate = useNavigate();
  const path = `${BUYER}/adcp-agents/${id}`;
  const { data, error } = useRead<Agent>(path);
  return (
    <ObjectPage
      title={data?.name ?? 'Agent'}
      mark={<State of={data?.status} />}
      about={<CopyId id={id} what="agent id" />}
      path={path}
      data={data}
      error={error}
      actions={
        data !== undefined && (
          <ConfirmedWrite
            label="Delete"
            title={`Delete ${data.name}?`}
            call={{ method: 'DELETE', path }}
            onDone={() => void navigate({ to: '/syndication' })}
          >
            Nothing more is sent to it, and its credential is deleted. What it has received stays there.
          </ConfirmedWrite>
        )
      }
      tabs={
        data === undefined
          ? []
          : [{ name: 'overview', label: 'Overview', content: () => <Overview agent={data} /> }]
      }
    />
  );
};

const Overview = ({ agent }: { readonly agent: Agent }) => (
  <Facts
    facts={[
      ['Address', agent.url],
      ['Protocol', agent.protocol],
      ['Your account there', agent.accountId ?? "the domain of the advertiser's brand"],
      ['State', agent.statusReason ?? 'it answers'],
      agent.nextCheckAt !== undefined && ['Tried again', <Time key="next" at={agent.nextCheckAt} />],
      ['Takes', agent.supportedTasks?.join(', ')],
      ['Registered', <Time key="created" at={agent.createdAt} />],
      ['Changed', <Time key="changed" at={agent.updatedAt} />],
    ]}
  />
);

export default AgentPage;
