import { Button, CopyButton, Group, Stack, Text, Title } from '@mantine/core';
import { addressOf, type Query } from '../api/call.ts';
import classes from './pieces.module.css';

/** Text that can be copied. */
export const Code = ({ text, label }: { readonly text: string; readonly label: string }) => (
  <Stack gap={4}>
    <Group justify="space-between">
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <CopyButton value={text}>
        {({ copied, copy }) => (
          <Button size="compact-sm" variant="default" onClick={copy}>
            {copied ? 'Copied' : 'Copy'}
          </Button>
        )}
      </CopyButton>
    </Group>
    <pre className={classes.json ?? ''} tabIndex={0} aria-label={label}>
      {text}
    </pre>
  </Stack>
);

interface Props {
  readonly data: unknown;
  readonly path: string;
  readonly query?: Query;
}

/** What a program gets, and the command that reads it. */
export const JsonAndCurl = ({ data, path, query }: Props) => (
  <Stack>
    <Title order={2} size="h4">
      For programs
    </Title>
    <Code
      label="The request"
      text={`curl -s '${location.origin}${addressOf(path, query)}' -H "Authorization: Bearer $KEY"`}
    />
    <Code label="Its answer (data)" text={JSON.stringify(data, undefined, 2)} />
  </Stack>
);
