import { Alert, Stack, Switch, Text } from '@mantine/core';
import { useState } from 'react';
import { BUYER, useItems } from '../api/query.ts';
import type { ConversionResult, EventSource } from '../api/types.ts';
import { SelectField, TextField, WriteForm, type Values } from '../pieces/form.tsx';
import { Code } from '../pieces/json.tsx';
import { advertiserPath } from './syndicated.ts';

const pathOf = (sourceId: string): string => `${BUYER}/event-sources/${encodeURIComponent(sourceId)}/events`;

const bodyOf = (advertiserId: number, values: Values, isTest: boolean) => {
  const { eventId = '', eventType = '', value = '', currency = '' } = values;
  return {
    advertiserId,
    events: [
      {
        eventId: eventId === '' ? `console-${crypto.randomUUID()}` : eventId,
        eventTime: new Date().toISOString(),
        eventType,
        ...(value === '' ? {} : { value: Number.isNaN(Number(value)) ? value : Number(value) }),
        ...(currency === '' ? {} : { currency }),
      },
    ],
    ...(isTest ? { testEventCode: 'console' } : {}),
  };
};

const curlOf = (sourceId: string, body: object): string =>
  `curl -s -X POST '${location.origin}${pathOf(sourceId)}' -H "Authorization: Bearer $KEY" \\
  -H "Content-Type: application/json" -H "Idempotency-Key: $(uuidgen)" \\
  -d '${JSON.stringify(body).replaceAll("'", String.raw`'\''`)}'`;

/** One event, only checked or logged, and the command by which a program sends it. */
export const TestEvent = ({ advertiserId }: { readonly advertiserId: number }) => {
  const { data: sources = [] } = useItems<EventSource>(`${advertiserPath(advertiserId)}/event-sources`);
  const [isTest, setTest] = useState(true);
  const [sent, setSent] = useState<{ readonly result: ConversionResult; readonly curl: string }>();
  const [curl, setCurl] = useState('');
  if (sources.length === 0) return <Text>Create an event source first.</Text>;
  return (
    <Stack>
      <WriteForm<ConversionResult>
        submit={isTest ? 'Check it' : 'Send it'}
        requestOf={(values) => {
          const { source = '' } = values;
          const body = bodyOf(advertiserId, values, isTest);
          setCurl(curlOf(source, body));
          setSent(undefined);
          return { method: 'POST', path: pathOf(source), body };
        }}
        touches={[`${advertiserPath(advertiserId)}/event`]}
        onDone={({ data: result }) => setSent({ result, curl })}
      >
        <SelectField
          name="source"
          label="Source"
          data={sources.map(({ eventSourceId, name }) => ({ value: eventSourceId, label: name }))}
        />
        <SelectField
          name="eventType"
          label="Type"
          data={['purchase', 'add_to_cart', 'page_view', 'custom']}
        />
        <TextField name="value" label="Value" inputMode="decimal" placeholder="49.90" />
        <TextField name="currency" label="Currency" placeholder="EUR" maxLength={3} />
        <TextField
          name="eventId"
          label="Event id"
          autoComplete="off"
          description="The same id counts once. Empty: a new one."
        />
        <Switch
          label="Only check it (testEventCode): nothing is logged"
          checked={isTest}
          onChange={({ currentTarget }) => setTest(currentTarget.checked)}
        />
      </WriteForm>
      {sent !== undefined && <Answer result={sent.result} isTest={isTest} />}
      {curl !== '' && <Code label="The same by a program" text={curl} />}
    </Stack>
  );
};

interface AnswerProps {
  readonly result: ConversionResult;
  readonly isTest: boolean;
}

const Answer = ({ result: { accepted, duplicates, rejected }, isTest }: AnswerProps) => (
  <Alert color={rejected.length > 0 ? 'red' : 'green'} role="status" variant="light">
    {accepted > 0 && (isTest ? 'It would count.' : 'It counts.')}
    {duplicates > 0 && 'It has been counted before: the same id.'}
    {rejected.map(({ reason }) => `Rejected: ${reason}.`)}
  </Alert>
);
