import { Button, Drawer, SegmentedControl } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { AdvertiserChoice } from '../pieces/advertiser-choice.tsx';
import { Filters } from '../pieces/filters.tsx';
import { Page } from '../pieces/page.tsx';
import { useUrlState } from '../pieces/url-state.ts';
import { NewAgent } from './new-agent.tsx';
import { NewAudience } from './new-audience.tsx';
import { SyndicationBoard } from './syndication-board.tsx';
import { boardFilters, SyndicationList } from './syndication-list.tsx';

const Syndication = () => {
  const [url, change] = useUrlState();
  const isList = url['view'] === 'list';
  return (
    <Page
      title="Syndication"
      about="What is on its way to which agent, live. Agents get what is switched on, and each later change of it."
    >
      <AdvertiserChoice>
        {({ id }) => (
          <>
            <Create advertiserId={id} />
            <SegmentedControl
              aria-label="View"
              value={isList ? 'list' : 'board'}
              onChange={(view) => change({ view: view === 'list' ? view : undefined, page: undefined })}
              data={[
                { value: 'board', label: 'Board' },
                { value: 'list', label: 'List' },
              ]}
              style={{ alignSelf: 'flex-start' }}
            />
            {isList ? (
              <SyndicationList advertiserId={id} />
            ) : (
              <>
                <Filters filters={boardFilters} />
                <SyndicationBoard key={id} advertiserId={id} />
              </>
            )}
          </>
        )}
      </AdvertiserChoice>
    </Page>
  );
};

const Create = ({ advertiserId }: { readonly advertiserId: number }) => {
  const [isAudience, audience] = useDisclosure();
  const [isAgent, agent] = useDisclosure();
  return (
    <div>
      <Button onClick={audience.open} mr="xs" mb="xs">
        New audience
      </Button>
      <Button onClick={agent.open} variant="default" mb="xs">
        Register an agent
      </Button>
      <Drawer opened={isAudience} onClose={audience.close} title="New audience">
        <NewAudience advertiserId={advertiserId} onDone={audience.close} />
      </Drawer>
      <Drawer opened={isAgent} onClose={agent.close} title="Register an agent">
        <NewAgent onDone={agent.close} />
      </Drawer>
    </div>
  );
};

export default Syndication;
