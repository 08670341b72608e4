import { Anchor, Container, Paper, Stack, Text, Title } from '@mantine/core';
import { useEffect, type ReactNode } from 'react';

interface Props {
  readonly title: string;
  readonly children: ReactNode;
}

/** A page for people without a session. Links between such pages load them, so that no link's token stays. */
export const EntryPage = ({ title, children }: Props) => {
  useEffect(() => {
    document.title = `${title} · Buyer Exchange`;
  }, [title]);
  return (
    <Container size={440} py="xl" component="main">
      <Stack>
        <Anchor href="/console" underline="never" c="inherit" fw={700}>
          Buyer Exchange
        </Anchor>
        <Paper withBorder p="lg" shadow="xs">
          <Stack>
            <Title order={1} size="h3">
              {title}
            </Title>
            {children}
          </Stack>
        </Paper>
      </Stack>
    </Container>
  );
};

export const WithoutToken = ({ from }: { readonly from: string }) => (
  <Text>Open the link {from} again: this page was opened without one.</Text>
);
