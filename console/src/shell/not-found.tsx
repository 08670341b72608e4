import { Button, Container, Stack, Text, Title } from '@mantine/core';
import { Go } from '../pieces/go.tsx';

export const NotFound = () => (
  <Container size="xs" py="xl" component="main">
    <Stack align="flex-start">
      <Title order={1}>No such page</Title>
      <Text>The address may be mistyped, or the page may have another one now.</Text>
      <Go to="/">To the first page</Go>
    </Stack>
  </Container>
);

/** A bug of the console. What the service refuses is shown where it was asked for (`Problem`). */
export const Failed = () => (
  <Container size="xs" py="xl" component="main">
    <Stack align="flex-start">
      <Title order={1}>The page has failed</Title>
      <Text>Nothing was changed by this. Load the page again; if it fails again, tell the operator.</Text>
      <Button onClick={() => location.reload()}>Load again</Button>
    </Stack>
  </Container>
);
