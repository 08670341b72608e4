import { Button, Group, List, Modal, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { BUYER, useRead, useWrite } from '../../api/query.ts';
import type { Advertiser, Campaign, CampaignPhase, Creative } from '../../api/types.ts';
import { ConfirmedWrite } from '../../pieces/confirm.tsx';
import { moneyText } from '../../pieces/money.ts';
import { Problem } from '../../pieces/problem.tsx';
import { timeText } from '../../pieces/time.tsx';
import classes from '../campaign.module.css';

const line = ['draft', 'active', 'completed'] as const;

/** From the draft to the end. A paused or archived campaign is beside the line. */
export const PhaseLine = ({ phase }: { readonly phase: CampaignPhase }) => {
  const at = phase === 'paused' ? 1 : line.findIndex((one) => one === phase);
  return (
    <ol className={classes.line ?? ''} aria-label="Phases">
      {line.map((one, index) => (
        <li
          key={one}
          className={index <= at ? (classes.passed ?? '') : ''}
          aria-current={index === at ? 'step' : undefined}
        >
          {index === at && phase === 'paused' ? 'paused' : one}
        </li>
      ))}
      {phase === 'archived' && (
        <li className={classes.passed ?? ''} aria-current="step">
          archived
        </li>
      )}
    </ol>
  );
};

interface StepsProps {
  readonly campaign: Campaign;
  readonly advertiser: Advertiser | undefined;
}

const steps: Readonly<Partial<Record<CampaignPhase, readonly [label: string, below: string]>>> = {
  active: ['Pause', '/pause'],
  paused: ['Resume', '/reactivate'],
};

export const CampaignSteps = ({ campaign, advertiser }: StepsProps) => {
  const [isOpen, { open, close }] = useDisclosure();
  const path = `${BUYER}/campaigns/${campaign.id}`;
  const [label, below] = steps[campaign.phase] ?? [];
  const write = useWrite<Campaign>(() => ({ method: 'POST', path: `${path}${below ?? ''}` }));
  return (
    <Stack gap="xs" align="flex-end">
      <Group gap="xs">
        {campaign.phase === 'draft' && <Button onClick={open}>Launch</Button>}
        {label !== undefined && (
          <Button variant="default" loading={write.isPending} onClick={() => write.mutate()}>
            {label}
          </Button>
        )}
        {campaign.phase !== 'active' && campaign.phase !== 'archived' && (
          <ConfirmedWrite
            label="Archive"
            title={`Archive ${campaign.name}?`}
            call={{ method: 'DELETE', path }}
          >
            It cannot be changed or launched after that, and this cannot be undone. Its history stays.
          </ConfirmedWrite>
        )}
      </Group>
      <Problem error={write.error} />
      <Modal opened={isOpen} onClose={close} title={`Launch ${campaign.name}?`}>
        <Launch campaign={campaign} advertiser={advertiser} close={close} />
      </Modal>
    </Stack>
  );
};

/** What a launch means, in sentences, before it happens. */
const Launch = ({ campaign, advertiser, close }: StepsProps & { readonly close: () => void }) => {
  const path = `${BUYER}/campaigns/${campaign.id}`;
  const { data: creatives } = useRead<readonly Creative[]>(`${path}/creatives`, { take: 200 });
  const launch = useWrite<Campaign>(() => ({ method: 'POST', path: `${path}/execute` }));
  const ready = creatives?.filter(({ state }) => state === 'ready').length ?? 0;
  const zone = advertiser?.preferredTimezone;
  const { flight, budget } = campaign;
  return (
    <Stack>
      <List spacing="xs">
        <List.Item>
          For <b>{advertiser?.name ?? 'its advertiser'}</b>, whose currency stays as it is from now on.
        </List.Item>
        <List.Item>
          {budget === undefined ? (
            'It has no budget yet.'
          ) : (
            <>
              It may spend <b>{moneyText(budget)}</b>.
            </>
          )}
        </List.Item>
        <List.Item>
          {flight === undefined
            ? 'It has no flight: it runs until you pause or archive it.'
            : `It runs from ${timeText(flight.startAt, zone)} to ${timeText(flight.endAt, zone)}${zone === undefined ? '' : ` (${zone})`}.`}
        </List.Item>
        <List.Item>
          {ready === 0
            ? 'It has no complete creative: nothing is submitted to sellers until you add one.'
            : `${ready} complete ${ready === 1 ? 'creative is' : 'creatives are'} submitted to the sellers for review.`}
        </List.Item>
        <List.Item>You can pause it at any time.</List.Item>
      </List>
      <Problem error={launch.error} />
      <Group>
        <Button
          loading={launch.isPending}
          data-autofocus
          onClick={() => launch.mutate(undefined, { onSuccess: close })}
        >
          Launch it now
        </Button>
        <Button variant="default" onClick={close}>
          Not yet
        </Button>
      </Group>
      <Text size="sm" c="dimmed">
        Everything that the launch causes is in the history of the campaign: What followed.
      </Text>
    </Stack>
  );
};
