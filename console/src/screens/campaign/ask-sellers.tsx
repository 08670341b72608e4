import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { problemOf } from '../../api/call.ts';
import { BUYER, useItems, useRead, useWrite } from '../../api/query.ts';
import type { Campaign, PendingConfirmation, ProposalRequest, Seller } from '../../api/types.ts';
import { chosenIn, ChoicesField } from '../../pieces/choices.tsx';
import { WriteForm } from '../../pieces/form.tsx';
import { Go } from '../../pieces/go.tsx';
import { Problem } from '../../pieces/problem.tsx';
import { Time } from '../../pieces/time.tsx';
import { roundsPath } from './rounds-path.ts';

type Answered = ProposalRequest | PendingConfirmation;

/** The round of the account that runs already, if the refusal names one. */
const runningIn = (error: unknown): string | undefined => {
  const { details } = problemOf(error);
  if (typeof details !== 'object' || details === null || !('executionId' in details)) return undefined;
  return String(details.executionId);
};

/** Without a choice the service asks all sellers, and wants a confirmation of what that means. */
export const AskSellers = ({ campaign }: { readonly campaign: Campaign }) => {
  const navigate = useNavigate();
  const { data: sellers = [] } = useItems<Seller>(`${BUYER}/sellers`);
  const [offered, setOffered] = useState<PendingConfirmation['confirmation']>();
  const [running, setRunning] = useState<string>();
  const path = roundsPath(campaign.id);
  const answered = (data: Answered): void => {
    if ('action' in data) setOffered(data.confirmation);
    else void navigate({ to: `/campaigns/${campaign.id}/proposal-requests/${data.executionId}` });
  };
  if (offered !== undefined) {
    return (
      <Confirmation
        offered={offered}
        path={path}
        onAnswer={answered}
        onCancel={() => setOffered(undefined)}
      />
    );
  }
  return (
    <Stack>
      <WriteForm<Answered>
        submit="Ask"
        requestOf={({ sellerIds }) => {
          setRunning(undefined);
          const chosen = chosenIn(sellerIds).map(Number);
          return { method: 'POST', path, body: chosen.length === 0 ? {} : { sellerIds: chosen } };
        }}
        touches={[path]}
        onDone={({ data }) => answered(data)}
        onRefused={(error) => {
          setRunning(runningIn(error));
          return false;
        }}
      >
        <ChoicesField
          name="sellerIds"
          label="Sellers"
          description="They get the brief of the campaign and the brand, and nothing about your account. None chosen: all that can be asked."
          choices={sellers.map(({ sellerId, name, channels }) => ({
            value: String(sellerId),
            label: name,
            description: channels.length === 0 ? 'All channels' : channels.join(', '),
          }))}
        />
      </WriteForm>
      {running !== undefined && <RunningRound campaignId={campaign.id} executionId={running} />}
    </Stack>
  );
};

interface ConfirmationProps {
  readonly offered: PendingConfirmation['confirmation'];
  readonly path: string;
  readonly onAnswer: (data: Answered) => void;
  readonly onCancel: () => void;
}

const Confirmation = ({ offered, path, onAnswer, onCancel }: ConfirmationProps) => {
  const { confirmationUid, summary, expiresAt } = offered;
  const write = useWrite<Answered>(
    () => ({ method: 'POST', path, body: { confirm: true, confirmationUid } }),
    [path],
  );
  // The button that was pressed is gone. Not the next button: a key that is held would press it.
  const question = useRef<HTMLParagraphElement>(null);
  useEffect(() => question.current?.focus(), []);
  return (
    <Stack>
      <Text ref={question} tabIndex={-1} style={{ overflowWrap: 'anywhere' }}>
        {summary}
      </Text>
      <Text size="sm" c="dimmed">
        This question is open until <Time at={expiresAt} />.
      </Text>
      <Problem error={write.error} />
      <Group>
        <Button
          loading={write.isPending}
          onClick={() => write.mutate(undefined, { onSuccess: ({ data }) => onAnswer(data) })}
        >
          Ask them all
        </Button>
        <Button variant="default" onClick={onCancel}>
          Choose sellers
        </Button>
      </Group>
    </Stack>
  );
};

interface RunningProps {
  readonly campaignId: string;
  readonly executionId: string;
}

/** The refusal does not say of which campaign the round is. */
const RunningRound = ({ campaignId, executionId }: RunningProps) => {
  const { data, isError } = useRead<ProposalRequest>(`${roundsPath(campaignId)}/${executionId}`);
  if (data !== undefined)
    return <Go to={`/campaigns/${campaignId}/proposal-requests/${executionId}`}>To the round that runs</Go>;
  return isError ? <Alert color="yellow">The round that runs is of another campaign.</Alert> : null;
};
